package script

import (
	"regexp"
	"slices"
	"strings"
)

// calling is a command that a script calls: by redis.call, redis.pcall or a local
// name of either, always with its name spelt out.
var calling = regexp.MustCompile(`\bp?call\(\s*'([A-Z]+)'`)

// Commands is what scripts call on a master, read from their texts: in lower case,
// in order, each once. Redis checks an ACL user's permission for every one of them
// as if the client had sent it.
func Commands(scripts ...*Script) (commands []string) {
	for _, s := range scripts {
		for _, found := range calling.FindAllStringSubmatch(s.Source, -1) {
			commands = append(commands, strings.ToLower(found[1]))
		}
	}
	slices.Sort(commands)
	return slices.Compact(commands)
}
