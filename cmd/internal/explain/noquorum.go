package explain

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// A NoQuorumError says why there was no quorum: why masters did not agree, those with the same
// reason together.
type NoQuorumError struct {
	Err    error
	Lasted time.Duration // the outage; 0: as long as the call
	Waited bool          // the call might have waited for a holder, too
}

func (e *NoQuorumError) Unwrap() error { return e.Err }

func (e *NoQuorumError) Error() string {
	failed, ok := errors.AsType[*redlock.QuorumError](e.Err)
	if !ok {
		return strings.TrimPrefix(e.Err.Error(), "redlock: ")
	}
	text := "no quorum"
	if failed.Key != "" {
		text = fmt.Sprintf("%s %q: %s", failed.Op, failed.Key, text)
	}
	switch {
	case e.Lasted >= time.Second:
		text += " for " + term.About(e.Lasted)
	case e.Lasted == 0 && failed.Elapsed >= time.Second:
		text += " within " + term.About(failed.Elapsed)
	}
	lasted := max(e.Lasted, failed.Elapsed)
	said := complaintsOf(failed, lasted)
	text += ": " + strings.Join(said.sentences(failed.Total), " ")
	if e.Waited {
		text += " The outage ended the waiting, not a holder."
	}
	texts := append([]string{text}, helpsOf(failed, lasted)...)
	if slices.ContainsFunc(said.said, complaint.isUnchecked) {
		texts = append(texts, "Those still being checked may be frozen: redlock status waits longer for them.")
	}
	return strings.Join(texts, " ")
}

// helpsOf returns advice for the masters that did not agree. It mentions init only where no master
// is known to have a marker: otherwise the fleet is not new.
func helpsOf(failed *redlock.QuorumError, lasted time.Duration) []string {
	var helps Helps
	fresh, away := 0, 0
	for node := range failed.NodeErrors() {
		err := answer(node.Err, lasted)
		if why := abstention(err); why != nil && why.Cause == guard.NoMarker && why.How != guard.HowEmptied {
			fresh++
		} else if a := Of(err); a.Down || a.Silent {
			away++
		}
		helps.Add(Help(err), node.Master)
	}
	if fresh > 0 && fresh+away == failed.Total {
		return append(helps.Sentences(), "If the whole fleet is new: redlock init.")
	}
	return helps.Sentences()
}

// overdue is the time after which a master that is still being checked counts as silent.
const overdue = 1500 * time.Millisecond

// answer returns err, or a time-out for a master whose checks are overdue.
func answer(err error, lasted time.Duration) error {
	if Of(err).one == unchecked && lasted >= overdue {
		return pool.ErrTimeout
	}
	return err
}

// WhyNoQuorum returns why masters did not agree. lasted is how long there has been no quorum.
func WhyNoQuorum(failed *redlock.QuorumError, lasted time.Duration) string {
	return strings.Join(complaintsOf(failed, lasted).sentences(failed.Total), " ")
}

// complaintsOf returns the complaints of the masters that did not agree. It leaves out masters that
// are still being checked, if the others alone prevent a quorum.
func complaintsOf(failed *redlock.QuorumError, lasted time.Duration) *complaints {
	said := &complaints{}
	for node := range failed.NodeErrors() {
		said.add(node.Master, answer(node.Err, lasted))
	}
	known := slices.DeleteFunc(slices.Clone(said.said), complaint.isUnchecked)
	if mastersOf(said.down, said.silent, known) > failed.Total-failed.Need {
		said.said = known
	}
	return said
}

// TooFew returns why the holder of a lock is not known: the errors of the masters without an answer.
func TooFew(in *redlock.Inspection) error {
	said, helps := &complaints{}, &Helps{}
	for _, m := range in.Masters {
		if m.Err != nil {
			said.add(m.Master, m.Err)
			helps.Add(Help(m.Err), m.Master)
		}
	}
	texts := append(said.sentences(len(in.Masters)), helps.Sentences()...)
	return fmt.Errorf("too few masters say who holds %q: %s", term.Printable(in.Key), strings.Join(texts, " "))
}

// A complaint is why some masters did not agree, all for the same reason.
type complaint struct {
	one, many string // the text after the name of one master, and after several
	names     []string
}

func (c complaint) isUnchecked() bool { return c.one == unchecked }

// complaints are those of all masters.
type complaints struct{ down, silent, said []complaint }

// add records why a master did not agree. It ignores a master that was not awaited.
func (c *complaints) add(master string, err error) {
	if errors.Is(err, redlock.ErrNotAwaited) {
		return
	}
	answer, list := Of(err), &c.said
	if answer.Down {
		list = &c.down
	} else if answer.Silent {
		list = &c.silent
	}
	i := slices.IndexFunc(*list, func(o complaint) bool { return o.one == answer.one })
	if i < 0 {
		*list, i = append(*list, complaint{one: answer.one, many: answer.many}), len(*list)
	}
	(*list)[i].names = append((*list)[i].names, master)
}

// mastersOf counts the masters of complaints.
func mastersOf(lists ...[]complaint) (n int) {
	for _, o := range slices.Concat(lists...) {
		n += len(o.names)
	}
	return n
}

// sentences returns the complaints as sentences for people, each with its full stop.
func (c *complaints) sentences(total int) (texts []string) {
	var away []string
	if n, names := joined(c.down); n > 0 {
		away = append(away, fmt.Sprintf("%d of %s %s down (%s)", n, term.Count(total, "master"), term.Are(n), names))
	}
	if n, names := joined(c.silent); n > 0 {
		of := ""
		if away == nil {
			of = " of " + term.Count(total, "master")
		}
		verb := " do not answer"
		if n == 1 {
			verb = " does not answer"
		}
		away = append(away, fmt.Sprintf("%d%s%s (%s)", n, of, verb, names))
	}
	if away != nil {
		texts = append(texts, strings.Join(away, ", ")+".")
	}
	for _, o := range c.said {
		text := o.many
		if len(o.names) == 1 {
			text = o.one
		}
		text = strings.TrimSuffix(text, ".") + "." // some errors of Redis end with one
		texts = append(texts, strings.Join(o.names, ", ")+text)
	}
	return texts
}

// joined counts the masters of complaints and names them, each reason after those that share it.
func joined(list []complaint) (n int, names string) {
	var parts []string
	for _, o := range list {
		n += len(o.names)
		part := strings.Join(o.names, ", ")
		if o.one != "" {
			part += ": " + o.one
		}
		parts = append(parts, part)
	}
	return n, strings.Join(parts, "; ")
}

// NotRenewed returns why a renewal failed that is tried again.
func NotRenewed(err error) string {
	if failed, ok := errors.AsType[*redlock.QuorumError](err); ok {
		if said := WhyNoQuorum(failed, 0); said != "" {
			return strings.TrimSuffix(said, ".")
		}
	}
	return strings.TrimPrefix(err.Error(), "redlock: ")
}
