package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/trouble"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
	"github.com/redquorum/redquorum/redlock"
)

// A noQuorumError says why no quorum could be had: what keeps so many masters from
// agreeing, those of one kind together.
type noQuorumError struct {
	fleet  string // "": there is one
	err    error
	lasted time.Duration // the outage; 0: as long as the call
	waited bool          // the call might have waited for a holder, too
}

func (e *noQuorumError) Unwrap() error { return e.err }

func (e *noQuorumError) Error() string {
	failed, ok := errors.AsType[*redlock.QuorumError](e.err)
	if !ok {
		return strings.TrimPrefix(e.err.Error(), "redlock: ")
	}
	text := "no quorum"
	if failed.Key != "" {
		text = fmt.Sprintf("%s %q: %s", failed.Op, failed.Key, text)
	}
	text += inFleet(e.fleet)
	switch {
	case e.lasted >= time.Second:
		text += " for " + words.About(e.lasted)
	case e.lasted == 0 && failed.Elapsed >= time.Second:
		text += " within " + words.About(failed.Elapsed)
	}
	text += ": " + whyNoQuorum(failed)
	if e.waited {
		text += " The outage ended the waiting, not a holder."
	}
	return text
}

// whyNoQuorum is what the masters say that did not agree, and what that means to the
// others.
func whyNoQuorum(failed *redlock.QuorumError) string {
	said := complaintsOf(failed)
	texts := said.sentences(failed.Total)
	if clock, ok := errors.AsType[*redlock.ClockError](failed); ok {
		texts = append([]string{clock.Error() + "."}, texts...)
	}
	others := failed.Total - said.count
	if said.count == 0 || others == 0 {
		return strings.Join(texts, " ")
	}
	rest := fmt.Sprintf("the other %d cannot decide alone.", others)
	if others == 1 {
		rest = "the other one cannot decide alone."
	}
	if len(texts) == 1 && said.unreachable() == said.count {
		return strings.TrimSuffix(texts[0], ".") + "; " + rest
	}
	return strings.Join(append(texts, "T"+rest[1:]), " ")
}

// complaintsOf are those of the masters that did not agree. Where those that cannot be
// asked decide, nothing is said of masters of which nothing is known yet.
func complaintsOf(failed *redlock.QuorumError) *complaints {
	said := &complaints{}
	if failed.Nodes == nil {
		return said
	}
	for _, cause := range failed.Nodes.Errors {
		if node, ok := errors.AsType[*redlock.NodeError](cause); ok {
			said.add(node.Master, node.Err)
		}
	}
	if said.unreachable() > failed.Total-failed.Need {
		said.withoutUnchecked()
	}
	return said
}

// A complaint is why some masters did not agree, all of them in the same words.
type complaint struct {
	one, many string // behind the name of one master, and behind those of several
	names     []string
}

// complaints are those of all masters.
type complaints struct {
	down, silent, said []complaint
	count              int // masters
}

// add notes why a master did not agree. One that was not waited for has no part in it.
func (c *complaints) add(master string, err error) {
	if errors.Is(err, redlock.ErrNotAwaited) {
		return
	}
	c.count++
	list, one, many := c.kindOf(err)
	i := slices.IndexFunc(*list, func(o complaint) bool { return o.one == one })
	if i < 0 {
		*list, i = append(*list, complaint{one: one, many: many}), len(*list)
	}
	(*list)[i].names = append((*list)[i].names, master)
}

// kindOf says of which kind a reason is, and puts it in words.
func (c *complaints) kindOf(err error) (list *[]complaint, one, many string) {
	if text, is := trouble.Down(err); is {
		return &c.down, text, text
	}
	if trouble.IsSilence(err) {
		return &c.silent, "", ""
	}
	one, many = trouble.Reason(err)
	return &c.said, one, many
}

// withoutUnchecked leaves out the masters of which nothing is known yet: the others
// decide.
func (c *complaints) withoutUnchecked() {
	c.said = slices.DeleteFunc(c.said, func(o complaint) bool {
		if o.one != trouble.Unchecked {
			return false
		}
		c.count -= len(o.names)
		return true
	})
}

// unreachable is how many of the masters cannot be asked.
func (c *complaints) unreachable() (n int) {
	for _, o := range slices.Concat(c.down, c.silent) {
		n += len(o.names)
	}
	return n
}

// sentences are for people, each with its full stop.
func (c *complaints) sentences(total int) (texts []string) {
	var away []string
	if n, names := joined(c.down); n > 0 {
		away = append(away, fmt.Sprintf("%d of %s %s down (%s)", n, words.Count(total, "master"), words.Are(n), names))
	}
	if n, names := joined(c.silent); n > 0 {
		of := ""
		if away == nil {
			of = " of " + words.Count(total, "master")
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
		texts = append(texts, strings.Join(o.names, ", ")+text+".")
	}
	return texts
}

// joined counts the masters of complaints and names them, with the words behind
// those that share them.
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
