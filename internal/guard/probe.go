package guard

import (
	_ "embed" // the script
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/redquorum/redquorum/internal/script"
)

// A master may let a user acquire locks but not renew or release them: its ACL forbids one of the
// commands, or rename-command hides it. Probe finds that out before the master votes.

//go:embed probe.lua
var probeSource string

// Probe tries the commands that locks need.
var Probe = script.New("probe", probeSource)

// ProbeKey is the key on which Probe tries commands: it never exists, and the documented
// permissions cover it.
const ProbeKey = "redquorum:intent:1:redquorum:probe"

// Commands are commands that a lock needs on a master, a bit for each.
type Commands uint32

// tried has the commands that Probe tries, then EVALSHA and EVAL. The bits have its order.
var tried = func() (names []string) {
	for _, found := range regexp.MustCompile(`\{'([A-Z]+)'`).FindAllStringSubmatch(probeSource, -1) {
		names = append(names, found[1])
	}
	return append(names, "EVALSHA", "EVAL")
}()

// CommandsOf returns the commands that scripts call, EVALSHA, EVAL, and further ones. All of them
// must be in tried.
func CommandsOf(scripts []*script.Script, further ...string) (all Commands) {
	for _, name := range append(script.Commands(scripts...), further...) {
		all |= 1 << slices.Index(tried, strings.ToUpper(name))
	}
	return all | 1<<slices.Index(tried, "EVALSHA") | 1<<slices.Index(tried, "EVAL")
}

// vital are the commands of plain locks. A master that refuses one of them does not vote.
var vital = CommandsOf([]*script.Script{script.Release, script.Extend, script.Verify}, "SET")

// String names them as people write them.
func (c Commands) String() string {
	var names []string
	for i, name := range tried {
		if c&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Refused are the commands that a master refuses to this user for good.
type Refused struct {
	Commands Commands
	Err      error // what it says to one of them; nil: it refuses none
}

// ReadProbe adds an answer to Probe, and reports whether it is one. err is an error reply to the
// EVAL, and bySHA to the EVALSHA. A command counts as refused only if the user may not run it, or
// the master does not know it. All other errors pass, such as OOM, or are about the key of the
// probe. One exception: a user that may set that key but not get it may only write keys, and could
// release no lock.
func (r Refused) ReadProbe(reply any, err, bySHA error) (Refused, bool) {
	parts, ok := reply.([]any)
	none := err != nil && refusesEval(err.Error())
	if !ok && !none {
		return r, false // it could not be run now
	}
	found := Refused{}
	if none {
		found = Refused{1 << slices.Index(tried, "EVAL"), errors.New(oneLine(err.Error()))}
	}
	sets := !slices.ContainsFunc(parts, func(part any) bool { name, _ := part.([]byte); return string(name) == "SET" })
	note := func(name, said string) {
		if i := slices.Index(tried, name); i >= 0 && (refuses(said) || name == "GET" && sets) {
			found.Commands |= 1 << i
			found.Err = errors.New(oneLine(said))
		}
	}
	for i := 0; i+1 < len(parts); i += 2 {
		name, _ := parts[i].([]byte)
		said, _ := parts[i+1].([]byte)
		note(string(name), string(said))
	}
	if bySHA != nil {
		note("EVALSHA", bySHA.Error())
	}
	return found, true
}

// Vital reports whether a command is refused that every lock needs.
func (r Refused) Vital() bool { return r.Commands&vital != 0 }

// refusesEval reports whether an error reply to EVAL says that scripts cannot be run at all.
// Services without scripts say so in their own words.
func refusesEval(said string) bool {
	return refuses(said) || strings.HasPrefix(said, "ERR ") && strings.Contains(strings.ToLower(said), "eval")
}

// refuses reports whether an error reply says that the user may not run the command, or that there
// is none of that name. Redis words it in several ways, by version and inside scripts.
func refuses(said string) bool {
	said = strings.ToLower(said)
	return strings.Contains(said, "can't run this command") || strings.Contains(said, "no permissions to run") ||
		strings.Contains(said, "unknown") && strings.Contains(said, "command")
}

// Lacking is why a master may not vote on a lock that needs these commands; nil: it
// refuses none of them.
func (r Refused) Lacking(needs Commands) *AbstainError {
	if lacks := r.Commands & needs; lacks != 0 {
		return &AbstainError{Cause: Forbidden, Value: lacks.String(), Err: r.Err}
	}
	return nil
}

// forbidden is the text of such an error.
func (r *AbstainError) forbidden() string {
	return fmt.Sprintf("it refuses %s%s; it could not renew or release what it grants: "+
		"permit the commands and keys of docs/reference/wire.md#permissions", r.Value, r.because())
}
