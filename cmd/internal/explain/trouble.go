package explain

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

// An Answer is the meaning of a master's error. It decides for all commands whether the master is
// down or refuses, and why.
type Answer struct {
	Down   bool // it cannot be reached
	Silent bool // it did not answer
	// Help is advice, with "%s" for the master's name; "": waiting helps, or the text says what helps.
	Help string

	// one and many are the text after one name and after several. While the master is down,
	// they are the reason, "" if it is not known.
	one, many string
}

const (
	start    = "Start %s, or mend the network to it."
	noAnswer = "No answer from %s: look whether it is frozen, paused (CLIENT PAUSE), " +
		"swapping or in a long script, or mend the network to it."

	otherVersion = "Use the version of redlock that the other clients of %s use. " +
		"Only where no client is running: redlock init --force."

	// The text about masters whose checks have not ended.
	unchecked    = " is still being checked"
	allUnchecked = " are still being checked"
)

// Of returns the meaning of a master's error.
func Of(err error) Answer {
	config, refused := errors.AsType[*pool.ConfigError](err)
	why := abstention(err)
	if a, ok := ofWrite(err); ok {
		return a
	}
	switch reason, down := cannotReach(err); {
	case down:
		return Answer{Down: true, Help: helpOfDown(err), one: reason, many: reason}
	case isSilence(err):
		return Answer{Silent: true, Help: orScheme(noAnswer, err)}
	case errors.Is(err, pipeline.ErrConnecting):
		return Answer{one: unchecked, many: allUnchecked}
	case refused && (why == nil || why.Cause == guard.NotConnected):
		help := "Mend the credentials, the database number or the TLS settings of %s, or those given here."
		if strings.Contains(config.Error(), "NOPERM ") {
			help = permit(config, helps[guard.Forbidden])
		}
		if strings.Contains(config.Error(), "max number of clients") {
			help = "Raise maxclients on %s, or find out who holds its connections: CLIENT LIST."
		}
		return said(": "+refusal(err), help)
	case refused:
		return said(": "+refusal(err), helpFor(why))
	case why != nil:
		return abstains(why)
	default:
		return said(": "+err.Error(), "")
	}
}

// helpOfDown returns advice that leads to a connection.
func helpOfDown(err error) string {
	switch _, unknown := errors.AsType[*net.DNSError](err); {
	case unknown:
		return "Mend the name of %s in the list, or what resolves it."
	case errors.Is(err, pipeline.ErrProtocol):
		return "List the port of a Redis in the place of %s: something else answers there."
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "Raise the limit of open files here (ulimit -n): %s could not be asked."
	default:
		return orScheme(start, err)
	}
}

// orScheme adds to help that the URL's scheme may be wrong, where the dialer says so.
func orScheme(help string, err error) string {
	if _, hint, ok := strings.Cut(err.Error(), ", and it had said nothing: "); ok {
		return strings.TrimSuffix(help, ".") + "; " + hint + "."
	}
	return help
}

// said returns an Answer with the same text after one name and after several.
func said(text, help string) Answer { return Answer{Help: help, one: text, many: text} }

// Help returns the Help of a master's Answer.
func Help(err error) string { return Of(err).Help }

// Short returns why a master has not answered, or does not vote, in few words for a table.
func Short(err error) string {
	switch a := Of(err); {
	case a.Down && a.one != "":
		return "down: " + a.one
	case a.Down:
		return "down"
	case a.Silent:
		return "does not answer"
	default:
		return strings.TrimLeft(a.one, ": ")
	}
}

// cannotReach returns why a master cannot be reached, "" where that is not known; false: it
// can be reached, refuses us, or stopped answering.
func cannotReach(err error) (reason string, down bool) {
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
	if isSilence(err) { // nobody answered the dial
		return "", false
	}
	if e, ok := errors.AsType[*pipeline.DownError](err); ok {
		return strings.Join(strings.Fields(e.Cause.Error()), " "), true
	}
	return "", true
}

// isSilence reports whether a master did not answer.
func isSilence(err error) bool {
	silences := []error{pool.ErrTimeout, pool.ErrStalled, pool.ErrConnectionLost}
	return slices.ContainsFunc(silences, func(silence error) bool { return errors.Is(err, silence) })
}

// Lasts reports whether an error lasts until somebody repairs something. The errors of a replica
// and of a wrong clock do not last: a promotion or a time daemon may end them at any moment.
func Lasts(err error) bool {
	if pipeline.IsLasting(err) {
		return true
	}
	why := abstention(err)
	return why != nil && !why.Passes() && why.Cause != guard.NotMaster && why.Cause != guard.OffClock
}

// abstains returns why a master may not vote.
func abstains(why *guard.AbstainError) Answer {
	switch why.Cause {
	case guard.Unmarked:
		if why.Err == nil {
			return Answer{one: unchecked, many: allUnchecked}
		}
	case guard.Changed:
		return Answer{one: " lost its data; checking again", many: " lost their data; checking again"}
	case guard.NoMarker:
		if why.How == guard.HowEmptied {
			return Answer{
				one:  " has lost its data: its marker is gone",
				many: " have lost their data: their markers are gone",
			}
		}
		return Answer{
			one:  " has no marker: it is new, or has lost its data",
			many: " have no marker: they are new, or have lost their data",
		}
	case guard.Quarantined:
		return quarantined(why)
	case guard.OtherFleet:
		if why.Aliases == nil && strings.Contains(why.Value, ", version ") {
			return said(": its marker says "+why.Value, otherVersion)
		}
	}
	return said(": "+why.Error(), helpFor(why))
}

// helpFor returns advice that leads to the vote of a master that abstains.
func helpFor(why *guard.AbstainError) string {
	switch {
	case why.Cause == guard.NotConnected:
		return start
	case why.Passes() && why.Err == nil:
		return ""
	default:
		return cmp.Or(helps[why.Cause], permit(why.Err, "Permit the guard's commands on %s (docs/reference/wire.md)."))
	}
}

// permit returns advice for an answer that an ACL denies: commands, or for denied keys other rules.
func permit(denied error, commands string) string {
	if denied != nil && strings.Contains(denied.Error(), "NOPERM") && strings.Contains(denied.Error(), "keys") {
		return "Permit the keys on %s, those of locks and the library's own, ~redquorum:*: " +
			"redlock doctor --key KEY prints the ACL lines."
	}
	return commands
}

// abstention returns why a master may not vote, from the guard's error or from the public one;
// nil: err has another reason.
func abstention(err error) *guard.AbstainError {
	if why, ok := errors.AsType[*guard.AbstainError](err); ok {
		return why
	}
	if why, ok := errors.AsType[*redlock.AbstainError](err); ok {
		return (*guard.AbstainError)(why)
	}
	return nil
}

// helps is the advice for a master that abstains, by cause.
var helps = map[guard.Cause]string{
	guard.NotStandalone: "List independent masters instead of %s (docs/reference/servers.md).",
	guard.NotMaster:     "List the master of %s, or make it one: REPLICAOF NO ONE.",
	guard.MayEvict:      "CONFIG SET maxmemory-policy noeviction on %s, and in redis.conf.",
	guard.Duplicate:     "List every server once, and others in the place of %s.",
	guard.Unreadable:    "Permit +info on %s.",
	guard.Forbidden:     "Permit what locks need on %s: redlock doctor prints the ACL lines.",
	guard.OffClock:      "Set the clock of %s right, or this machine's, if that is off.",
	guard.NotOurs:       "Rename or delete " + guard.Key + " on %s.",
	guard.OtherFleet: "Use the list and the settings of the fleet of %s, as its other clients do. " +
		"Only where no client is running: redlock init --force.",
}

// quarantined returns why a master may have forgotten locks, and until when it does not vote.
func quarantined(why *guard.AbstainError) Answer {
	past := map[string][2]string{
		guard.HowRestarted: {"was restarted", "were restarted"},
		guard.HowResynced: {
			"was resynchronised, or got its first replica",
			"were resynchronised, or got their first replica",
		},
		guard.HowEvicted: {"has evicted keys", "have evicted keys"},
		guard.HowAdopted: {"was new, or had lost its data", "were new, or had lost their data"},
		guard.HowEmptied: {"has lost its data", "have lost their data"},
		guard.HowRestored: {
			"has lost its data, and an older marker was put back",
			"have lost their data, and older markers were put back",
		},
		guard.HowReset:  {"had its clock set back", "had their clocks set back"},
		guard.HowForced: {"was declared anew by an operator", "were declared anew by an operator"},
	}
	what, ok := past[why.How]
	if !ok {
		what = [2]string{"may have forgotten locks", "may have forgotten locks"}
	}
	until := term.Until(why.Until, why.Left)
	return Answer{
		one:  " " + what[0] + "; it votes again at " + until,
		many: " " + what[1] + "; they vote again at " + until,
	}
}

// refusal returns how a master that is up refuses us, for a password without the server's text.
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
