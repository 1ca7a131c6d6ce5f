// Package trouble puts in few words why a master did not answer, or not agree.
package trouble

import (
	"errors"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
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
	why, ok := errors.AsType[*redlock.AbstainError](err)
	return ok && !why.Cause.Passes() && why.Cause != redlock.AbstainNotMaster && why.Cause != redlock.AbstainOffClock
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
	why, ok := errors.AsType[*redlock.AbstainError](err)
	if !ok {
		return ": " + err.Error(), ": " + err.Error()
	}
	switch why.Cause {
	case redlock.AbstainUnmarked:
		if why.Err == nil {
			return Unchecked, AllUnchecked
		}
	case redlock.AbstainChanged:
		return " lost its data; checking again", " lost their data; checking again"
	case redlock.AbstainNoMarker:
		const ifNew = "; if the whole fleet is new: redlock-demo init"
		return " has no marker: it is new, or has lost its data" + ifNew, " have no marker: they are new, or have lost their data" + ifNew
	case redlock.AbstainQuarantined:
		return quarantined(why)
	}
	return ": " + why.Error(), ": " + why.Error()
}

// quarantined is why a master may have forgotten locks, and until when it does not vote.
func quarantined(why *redlock.AbstainError) (one, many string) {
	past := map[string][2]string{
		guard.HowRestarted: {"was restarted", "were restarted"},
		guard.HowResynced:  {"was resynchronised, or got its first replica", "were resynchronised, or got their first replica"},
		guard.HowAdopted:   {"was new, or had lost its data", "were new, or had lost their data"},
		guard.HowReset:     {"had its clock set back", "had their clocks set back"},
		guard.HowForced:    {"was declared anew by an operator", "were declared anew by an operator"},
		guard.HowRevoked:   {"was declared new without a master that had locks", "were declared new without a master that had locks"},
	}
	past[guard.HowCreated] = past[guard.HowAdopted]
	what, ok := past[why.How]
	if !ok {
		what = [2]string{"may have forgotten locks", "may have forgotten locks"}
	}
	until := words.Until(why.Until, why.Left)
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
