package release

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/term"
)

// Outcomes of a ReleaseReport, in addition to app.OutcomeNoQuorum.
const (
	ReleaseDone    = "released"
	ReleaseAlready = "already-released" // by an operator, before
	ReleaseNotHeld = "not-held"         // on a quorum
	releaseChanged = "changed"          // another token is there by now, or none
	ReleaseRefused = "refused"          // the holder is of a kind that release does not touch
)

// A ReleaseReport is what --json prints.
type ReleaseReport struct {
	Key      string        `json:"key"`
	Outcome  string        `json:"outcome"`
	ExitCode int           `json:"exit_code"`
	Error    string        `json:"error,omitempty"`
	By       string        `json:"by,omitempty"`     // the operator of this release, or of the one before
	Holder   *explain.Hold `json:"holder,omitempty"` // as it was before
	FreeInMS int64         `json:"free_in_ms,omitempty"`
	Masters  []Result      `json:"masters,omitempty"`
}

// doneOn says on how many masters the holder's token was replaced.
func (r *ReleaseReport) doneOn(done int) string {
	return fmt.Sprintf("replaced on %d of %s", done, term.Count(len(r.Masters), "master"))
}

// show prints the report. It returns err, without its text if that was printed.
func (r *ReleaseReport) show(out *os.File, asJSON bool, err error) error {
	r.ExitCode = app.ExitCode(err)
	if asJSON {
		if err != nil {
			r.Error = term.Redacted(err.Error())
		}
		return app.Report(out, r, err)
	}
	var text bytes.Buffer
	l := term.LayoutFor(out)
	if len(r.Masters) > 0 {
		rows := [][]string{{"master", "key"}}
		for _, m := range r.Masters {
			said := string(m.State)
			if m.Error != "" {
				said = "✗ " + m.Error
			}
			rows = append(rows, []string{m.Master, said})
		}
		l.Table(&text, term.Table{Rows: rows})
	}
	if said := r.sentence(); said != "" {
		l.Text(&text, "", 0, said)
	}
	return cmp.Or(app.Emit(out, &text), err)
}

// sentence says what was done; "": the error says it.
func (r *ReleaseReport) sentence() string {
	free := term.Seconds(time.Duration(r.FreeInMS) * time.Millisecond)
	switch {
	case r.Outcome == ReleaseAlready:
		by := explain.ByOperator(r.By)
		return fmt.Sprintf("%s: already %s. Nobody gets in for %s.", term.Printable(r.Key), by, free)
	case r.Outcome != ReleaseDone:
		return ""
	default:
		return fmt.Sprintf("%s: released. %s cannot renew it any more. Nobody gets in for %s.",
			term.Printable(r.Key), r.name(), free)
	}
}

// name returns the former holder.
func (r *ReleaseReport) name() string {
	if r.Holder.Owner == "" {
		return "Its holder"
	}
	return fmt.Sprintf("Its holder %q", term.Printable(r.Holder.Owner))
}
