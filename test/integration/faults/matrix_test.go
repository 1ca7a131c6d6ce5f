package faults

import "strings"

// matrix is the list of faults.
func matrix() []row {
	var all []row
	for _, part := range [][]row{outageRows(), networkRows(), clientRows(), guardRows(), clockRows(), replyRows(), foreignRows(), loadRows(), elsewhereRows(), waitingRows(), commandRows()} {
		all = append(all, part...)
	}
	return all
}

// kept reports whether a key outlives every lock: the marker of the guard, fencing tokens and
// lease records do.
func kept(key string) bool {
	for _, prefix := range []string{"redquorum:marker", "redquorum:sighted", "redquorum:list", "redquorum:fence:", "redquorum:lease:"} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}
