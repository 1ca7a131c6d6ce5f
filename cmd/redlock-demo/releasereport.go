package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/release"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
	tokens "github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// Outcomes of a releaseReport, beside outcomeNoQuorum.
const (
	releaseDone    = "released"
	releaseAlready = "already-released" // by an operator, before
	releaseNotHeld = "not-held"         // on a quorum
	releaseChanged = "changed"          // another token is there by now, or none
	releaseRefused = "refused"          // it is held by what is not touched
)

// A releaseReport is what --json prints.
type releaseReport struct {
	Key      string           `json:"key"`
	Outcome  string           `json:"outcome"`
	ExitCode int              `json:"exit_code"`
	Error    string           `json:"error,omitempty"`
	Now      bool             `json:"now"`
	By       string           `json:"by,omitempty"`     // the operator whose token is there, or was
	Holder   *releasedHolder  `json:"holder,omitempty"` // as it was before
	FreeInMS int64            `json:"free_in_ms,omitempty"`
	LeasedMS int64            `json:"leased_ms,omitempty"` // with --now: so long the lease record may keep others out
	Told     bool             `json:"told,omitempty"`      // with --now: a client that waits was told
	Masters  []releasedMaster `json:"masters,omitempty"`
}

type releasedHolder struct {
	Owner   string `json:"owner,omitempty"`
	Token   string `json:"token"` // its beginning
	Masters int    `json:"masters"`
	TTLMS   int64  `json:"ttl_ms"`
}

type releasedMaster struct {
	Master string `json:"master"`
	State  string `json:"state"` // replaced, deleted, changed, missing, endless or failed
	Error  string `json:"error,omitempty"`
}

func (r *releaseReport) noteHolder(h *redlock.Holder) {
	r.Holder = &releasedHolder{h.Owner, tokens.Short(h.Token), h.Masters, h.TTL.Milliseconds()}
}

func (r *releaseReport) noteResults(results []release.Result) {
	for _, res := range results {
		m := releasedMaster{Master: res.Master, State: string(res.State)}
		if res.Err != nil {
			m.Error = visible(redacted(res.Err.Error()))
		}
		r.Masters = append(r.Masters, m)
		r.Told = r.Told || res.Told
	}
}

func (r *releaseReport) free(in time.Duration)     { r.FreeInMS = in.Milliseconds() }
func (r *releaseReport) leased(left time.Duration) { r.LeasedMS = left.Milliseconds() }

// doneOn says on how many masters the holder's token is no more.
func (r *releaseReport) doneOn(done int) string {
	verb := "replaced"
	if r.Now {
		verb = "deleted"
	}
	return fmt.Sprintf("%s on %d of %s", verb, done, words.Count(len(r.Masters), "master"))
}

// show prints the report, and gives what remains of the error.
func (r *releaseReport) show(out io.Writer, asJSON bool, err error) error {
	r.ExitCode = exitCode(err)
	if asJSON {
		if err != nil {
			r.Error = redacted(err.Error())
		}
		return report(out, r, err)
	}
	var text bytes.Buffer
	if len(r.Masters) > 0 {
		rows := [][]string{{"master", "key"}}
		for _, m := range r.Masters {
			said := m.State
			if m.Error != "" {
				said = "✗ " + shortened(m.Error, longestError)
			}
			rows = append(rows, []string{m.Master, said})
		}
		if err := align(&text, rows); err != nil {
			return err
		}
	}
	text.WriteString(r.sentence())
	return cmp.Or(emit(out, &text), err)
}

// sentence says what has been done; nothing where the error does.
func (r *releaseReport) sentence() string {
	free := seconds(time.Duration(r.FreeInMS) * time.Millisecond)
	switch {
	case r.Outcome == releaseAlready:
		return fmt.Sprintf("%s: already %s. Nobody gets in for %s.\n", printable(r.Key), byOperator(r.By), free)
	case r.Outcome != releaseDone:
		return ""
	case !r.Now:
		return fmt.Sprintf("%s: released. %s cannot renew it any more. Nobody gets in for %s.\n", printable(r.Key), r.name(), free)
	}
	text := fmt.Sprintf("%s: released. %s may still be working.", printable(r.Key), r.name())
	if r.LeasedMS > 0 {
		text += fmt.Sprintf(" The lease record keeps others out until its holder hears of it, or for %s.", seconds(time.Duration(r.LeasedMS)*time.Millisecond))
	} else if r.Told {
		text += " A client that waits was told."
	}
	return text + "\n"
}

// name is the holder that was.
func (r *releaseReport) name() string {
	switch {
	case r.Now && r.By != "": // what that operator had left was deleted
		return "Its former holder"
	case r.Holder.Owner == "":
		return "Its holder"
	}
	return fmt.Sprintf("Its holder %q", printable(r.Holder.Owner))
}

// byOperator is how a lock is told of that an operator has taken from its holder.
func byOperator(operator string) string {
	return fmt.Sprintf("released by an operator (%s)", printable(operator))
}

// releasedSentence is an inspection of a lock that an operator has taken from its
// holder; "": none has.
func releasedSentence(in *redlock.Inspection) string {
	first := &in.Holders[0]
	operator, ok := release.By(first.Token)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s on %d of %d, free in %s", byOperator(operator), first.Masters, len(in.Masters), seconds(first.TTL))
}

// operatorBound is how long the masters have to say who has taken the lock.
const operatorBound = time.Second

// operatorAt tells which operator has taken the lock from its holder; "": none, as
// far as the masters say.
func operatorAt(who inspector, key string) string {
	ctx, cancel := context.WithTimeout(context.Background(), operatorBound)
	defer cancel()
	in, err := who.Inspect(ctx, key)
	if err != nil {
		return ""
	}
	for i := range in.Holders {
		if operator, ok := release.By(in.Holders[i].Token); ok {
			return operator
		}
	}
	return ""
}

// watchOperator looks who has taken the lock as soon as it is lost: later the token
// that says so may have expired. The lock's context has to end before the result is
// asked for.
func (e *execution) watchOperator(lock fleets.Hold) (operator func() string) {
	found := make(chan string, 1)
	go func() { // ends with the lock's context
		<-lock.Context().Done()
		lost, ok := errors.AsType[*redlock.LostError](context.Cause(lock.Context()))
		if !ok || lost.Reason != redlock.ReasonTaken {
			found <- ""
			return
		}
		found <- e.place.operator(e.key)
	}()
	return func() string { return <-found }
}
