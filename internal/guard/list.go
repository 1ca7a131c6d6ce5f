package guard

import (
	"crypto/sha256"
	_ "embed" // the script
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redquorum/internal/script"
)

//go:embed list.lua
var listSource string

// List notes on a master which list of masters is in use. Clients with different lists of the same
// length can both have a quorum, and no marker tells them apart.
var List = script.New("list", listSource)

// ListKey is the key of the list's digest, in the database of the locks. It expires listKept after
// it was last written. Confirming it writes only when less than 90 s are left.
const (
	ListKey  = "redquorum:list"
	listKept = 2 * time.Minute
)

// ListDigest is the same for all clients that spell the same masters alike, as host:port, in any order.
func ListDigest(masters []string) string {
	all := make([]string, len(masters))
	for i, m := range masters {
		all[i] = strings.ToLower(m)
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
	return hex.EncodeToString(sum[:10])
}

// ListArgs are the arguments of EVALSHA for List.
func ListArgs(digest string, looks bool) []any {
	return List.Args(nil, []string{ListKey}, digest, flag(looks))
}

// An OtherList is another list than the client's own that is in use on a master.
type OtherList struct {
	Digest string        // "": there is no other
	Age    time.Duration // at the reading: since it was last confirmed, or up to 30 s more
}

// ReadList reads the reply of List. ok is false if it is not one.
func ReadList(reply any, own string) (other OtherList, ok bool) {
	parts, _ := reply.([]any)
	if len(parts) != 2 {
		return other, false
	}
	digest, ok := word(parts[0])
	left, isNumber := parts[1].(int64)
	if !ok || !isNumber {
		return other, false
	}
	if digest != "" && digest != own {
		age := listKept - time.Duration(max(0, min(left, listKept.Milliseconds())))*time.Millisecond
		other = OtherList{digest, max(0, age)}
	}
	return other, true
}
