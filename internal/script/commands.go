package script

import (
	"regexp"
	"slices"
	"strings"
)

// calling matches a command in a script: a call of redis.call, redis.pcall or a local
// name for one of them, with the command's name as a literal.
var calling = regexp.MustCompile(`\bp?call\(\s*'([A-Z]+)'`)

// Commands returns the commands that scripts call on a master, read from their sources:
// lower case, sorted, without duplicates. Redis checks an ACL user's permission for each
// of them as if the client had sent it.
func Commands(scripts ...*Script) (commands []string) {
	for _, s := range scripts {
		for _, found := range calling.FindAllStringSubmatch(s.Source, -1) {
			commands = append(commands, strings.ToLower(found[1]))
		}
	}
	slices.Sort(commands)
	return slices.Compact(commands)
}
