package say

import (
	"cmp"
	"errors"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// Down is why a master cannot be reached, "" where that is not known; false: it
// can be, or is there and refuses us, or stopped answering.
func Down(err error) (text string, down bool) {
	_, refuses := errors.AsType[*pool.ConfigError](err)
	if refuses || !errors.Is(err, pool.ErrDown) || errors.Is(err, pipeline.ErrConnecting) {
		return "", false
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error(), true
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns.Err, true
	}
	if IsSilence(err) { // a dial that nobody answers
		return "", false
	}
	if e, ok := errors.AsType[*pipeline.DownError](err); ok {
		return strings.Join(strings.Fields(e.Cause.Error()), " "), true
	}
	return "", true
}

// Lasts reports whether a master's part will not change until somebody mends
// something. A replica may be promoted any moment, and a clock be set right.
func Lasts(err error) bool {
	if pipeline.IsLasting(err) {
		return true
	}
	why := abstention(err)
	return why != nil && !why.Cause.Passes() && why.Cause != guard.NotMaster && why.Cause != guard.OffClock
}

// IsSilence reports whether a master did not answer.
func IsSilence(err error) bool {
	return slices.ContainsFunc([]error{pool.ErrTimeout, pool.ErrStalled, pool.ErrConnectionLost}, func(silence error) bool { return errors.Is(err, silence) })
}

// What is said of masters that have not said yet who they are.
const (
	Unchecked    = " is still being checked"
	AllUnchecked = " are still being checked"
)

// Reason is what a master that can be reached says, behind one name and behind
// several.
func Reason(err error) (one, many string) {
	if _, refuses := errors.AsType[*pool.ConfigError](err); refuses {
		return ": " + refusal(err), ": " + refusal(err)
	}
	if errors.Is(err, pipeline.ErrConnecting) {
		return Unchecked, AllUnchecked
	}
	if w := writeRefusal(err); w != nil {
		return " " + w.what, ": each " + w.what
	}
	why := abstention(err)
	if why == nil {
		return ": " + err.Error(), ": " + err.Error()
	}
	switch why.Cause {
	case guard.Unmarked:
		if why.Err == nil {
			return Unchecked, AllUnchecked
		}
	case guard.Changed:
		return " lost its data; checking again", " lost their data; checking again"
	case guard.NoMarker:
		const ifNew = "; if the whole fleet is new: " + declareNew
		return " has no marker: it is new, or has lost its data" + ifNew, " have no marker: they are new, or have lost their data" + ifNew
	case guard.Quarantined:
		return quarantined(why)
	}
	return ": " + why.Error(), ": " + why.Error()
}

// abstention is why a master may not vote, as the guard has it or as the library's users see it; nil: that is not the reason.
func abstention(err error) *guard.AbstainError {
	if why, ok := errors.AsType[*guard.AbstainError](err); ok {
		return why
	}
	if why, ok := errors.AsType[*redlock.AbstainError](err); ok {
		return &guard.AbstainError{
			Cause: guard.Cause(why.Cause), Value: why.Value, Want: why.Want, Twins: why.Twins,
			Left: why.Left, Until: why.Until, How: why.How, By: why.By, Ours: why.Ours, Err: why.Err,
		}
	}
	return nil
}

// Why is why a master counts for nothing, behind its name: it abstains, or refuses the write of a lock.
func Why(err error) string {
	if abstention(err) != nil {
		return Short(err)
	}
	return refuses(err)
}

// Help is what leads to its vote then, or to an answer, with "%s" for its name; "": time does, or what is said of it says
// how.
func Help(err error) string {
	why := abstention(err)
	_, refused := errors.AsType[*pool.ConfigError](err)
	_, down := Down(err)
	switch {
	case why != nil && why.Cause != guard.NotConnected:
		if why.Cause.Passes() && why.Err == nil {
			return ""
		}
		return cmp.Or(helps[why.Cause], "Permit the guard's commands on %s (docs/reference/wire.md).")
	case refused && strings.Contains(err.Error(), "NOPERM "):
		return helps[guard.Forbidden]
	case refused:
		return "Mend the credentials, the database number or the TLS settings of %s, or those given here."
	case IsSilence(err):
		return "No answer from %s: look whether it is frozen, paused (CLIENT PAUSE), swapping or in a long script, or mend the network to it."
	case why != nil || down:
		return "Start %s, or mend the network to it."
	case writeRefusal(err) != nil:
		return WriteHelp(err)
	default:
		return ""
	}
}

// helps is what leads to the vote of a master that abstains for a cause.
var helps = map[guard.Cause]string{
	guard.NotStandalone: "List independent masters instead of %s (docs/reference/servers.md).",
	guard.Moved:         "Take locks in both fleets, or in the new one alone: %s votes for who does (docs/how-to/moving-a-fleet.md).",
	guard.NotMaster:     "List the master of %s, or make it one: REPLICAOF NO ONE.",
	guard.MayEvict:      "CONFIG SET maxmemory-policy noeviction on %s, and in redis.conf.",
	guard.Duplicate:     "List every server once, and others in the place of %s.",
	guard.Unreadable:    "Permit +info on %s.",
	guard.Forbidden:     "Permit what locks need on %s: redlock doctor prints the ACL lines.",
	guard.OffClock:      "Set the clock of %s right, or this machine's, if that is off.",
	guard.NotOurs:       "Rename or delete " + guard.Key + " on %s.",
	guard.OtherFleet:    "List the masters of one fleet and use its settings; or redlock init --force, when no client is running (%s).",
}

// declareNew is what an operator runs on a new fleet.
const declareNew = "redlock init"

// quarantined is why a master may have forgotten locks, and until when it does not vote.
func quarantined(why *guard.AbstainError) (one, many string) {
	past := map[string][2]string{
		guard.HowRestarted: {"was restarted", "were restarted"},
		guard.HowResynced:  {"was resynchronised, or got its first replica", "were resynchronised, or got their first replica"},
		guard.HowAdopted:   {"was new, or had lost its data", "were new, or had lost their data"},
		guard.HowEmptied:   {"has lost its data", "have lost their data"},
		guard.HowRestored:  {"has lost its data, and an older marker was put back", "have lost their data, and older markers were put back"},
		guard.HowReset:     {"had its clock set back", "had their clocks set back"},
		guard.HowForced:    {"was declared anew by an operator", "were declared anew by an operator"},
		guard.HowRevoked:   {"was declared new without a master that had locks", "were declared new without a master that had locks"},
	}
	past[guard.HowCreated] = past[guard.HowAdopted]
	what, ok := past[why.How]
	if !ok {
		what = [2]string{"may have forgotten locks", "may have forgotten locks"}
	}
	until := term.Until(why.Until, why.Left)
	return " " + what[0] + "; it votes again at " + until, " " + what[1] + "; they vote again at " + until
}

// refusal is how a master that is up refuses us: of a password no more than that.
func refusal(err error) string {
	text := err.Error()
	if config, ok := errors.AsType[*pipeline.ConfigError](err); ok {
		text = (&pipeline.DownError{Cause: config}).Error()
	}
	if short, _, ok := strings.Cut(text, " (the master is up): "); ok && strings.HasPrefix(short, "password") {
		return short + " (the master is up)"
	}
	return text
}

// Short is why a master has not answered, in the few words that a table has room for.
func Short(err error) string {
	text, down := Down(err)
	one, _ := Reason(err)
	switch {
	case down && text != "":
		return "down: " + text
	case down:
		return "down"
	case IsSilence(err):
		return "does not answer"
	default:
		return strings.TrimLeft(one, ": ")
	}
}
