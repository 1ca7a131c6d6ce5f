package guard

import (
	"bytes"
	"fmt"
	"strings"
)

// Info is what the guard needs of INFO. A field is "" if INFO does not say it, or not credibly.
type Info struct {
	RunID  string // new for every process
	Role   string // master or slave
	Policy string // maxmemory_policy
	Mode   string // redis_mode: standalone, cluster or sentinel; "" also if the server does not have it
}

// Limits on what is read of INFO. Redis' own fields are much shorter, and all of INFO is a few
// kilobytes, more only with thousands of databases or command statistics.
const (
	maxInfo  = 1 << 20 // bytes
	maxValue = 64      // bytes
)

// ParseInfo reads the sections server, replication and memory, from one text
// or from several. The error says what is missing or not credible, with the
// first 64 bytes of it; the Info is filled in with the rest.
func ParseInfo(texts ...[]byte) (Info, error) {
	var info Info
	fields := []struct {
		name  string
		value *string
		extra bool // it may be missing
		twice bool
	}{
		{name: "run_id", value: &info.RunID}, {name: "role", value: &info.Role},
		{name: "maxmemory_policy", value: &info.Policy}, {name: "redis_mode", value: &info.Mode, extra: true},
	}

	size := 0
	var bad error
	for _, text := range texts {
		if size += len(text); size > maxInfo {
			return Info{}, fmt.Errorf("INFO has more than %d bytes", maxInfo)
		}
		for line := range bytes.Lines(text) {
			key, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
			name := InfoField(string(key))
			for i := range fields {
				f := &fields[i]
				switch {
				case f.name != name || f.twice:
				case !credible(value):
					bad = fmt.Errorf("INFO says %s:%.64q", f.name, value)
				case *f.value == "":
					*f.value = string(value)
				case *f.value != string(value):
					bad = fmt.Errorf("INFO says %s:%s and %s:%.64q", f.name, *f.value, f.name, value)
					*f.value, f.twice = "", true
				}
			}
		}
	}
	if bad != nil {
		return info, bad
	}
	var missing []string
	for _, f := range fields {
		if *f.value == "" && !f.extra {
			missing = append(missing, f.name)
		}
	}
	if missing != nil {
		return info, fmt.Errorf("INFO does not say %s", strings.Join(missing, ", "))
	}
	return info, nil
}

// InfoField returns Redis' name of a field of INFO. Valkey has another name for one of them since
// 8.0, unless its extended-redis-compatibility is on.
func InfoField(name string) string {
	if name == "server_mode" {
		return "redis_mode"
	}
	return name
}

// credible reports whether a value is one word, as Redis' own values are: it is compared, sent back
// to the master and shown to people.
func credible(value []byte) bool {
	if len(value) == 0 || len(value) > maxValue {
		return false
	}
	for _, c := range value {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}
