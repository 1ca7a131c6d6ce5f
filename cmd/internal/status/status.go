// Package status is the command that says whether locks can be taken, and who holds one.
package status

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/term"
	tokens "github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/redlock"
)

const statusExamples = `  redlock status                            # can I lock?
  redlock status invoices
  redlock status --watch=500ms invoices deploy
  redlock status --wait-all 10m            # before the next is restarted
  redlock status --json invoices | jq -r '.keys[].verdict'`

// statusOptions are the flags of status.
type statusOptions struct {
	*app.SharedFlags
	app.AccessFlags
	watch      time.Duration // 0: one look
	waitAll    time.Duration // 0: it does not wait
	quiet      bool
	showTokens bool
}

func New(a *app.App, shared *app.SharedFlags) *cobra.Command {
	o := &statusOptions{SharedFlags: shared}
	cmd := &cobra.Command{
		Use:   "status [flags] [KEY]...",
		Short: "Show whether locks can be taken, and who holds one",
		Long: `status says first whether a lock can be taken now, and if not, until when and
what helps, as doctor does. Then it asks every master who holds the locks, and
draws the conclusion: the holder of a lock is the one that a quorum of the
masters names. It also shows which clients wait in the lock's queue. Clients of
other libraries, readers, and clients that poll are in no queue. It changes no
lock. On a master that has no marker it notes since when that is so.

Exit code: 69 when no lock can be taken now, or too few masters answer to tell
who holds one; else the greatest of all keys': 0 when the lock is free or
somebody holds it on a quorum, 1 when neither is so (attempts that collide look
like that for a moment), or when --wait-all is over before all masters vote; 64
for a mistake in the arguments.`,
		Example: statusExamples,

		Args: func(_ *cobra.Command, args []string) error { return app.CheckKeys(args...) },
		RunE: func(cmd *cobra.Command, keys []string) error { return runStatus(cmd, a, o, keys) },
	}
	shared.Register(cmd, app.SharedNames...)
	app.RegisterWatch(cmd, &o.watch)
	cmd.Flags().Var(app.RangeFlag(&o.waitAll, app.MinWait, app.MaxWait), "wait-all",
		"wait until all masters vote, for so long: between two restarts of masters")
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "print nothing; only the exit code answers")
	cmd.Flags().BoolVar(&o.showTokens, "show-tokens", false,
		"print tokens in full; anybody who knows a token can release its lock")
	o.AccessFlags.Register(cmd)
	return cmd
}

func runStatus(cmd *cobra.Command, a *app.App, o *statusOptions, keys []string) error {
	if err := app.CheckWatch(cmd, o.watch, "[KEY]...", keys); err != nil {
		return err
	}
	if o.quiet && o.watch > 0 {
		return app.Usagef("--quiet and --watch exclude each other: nothing would be shown again and again")
	}
	if o.waitAll > 0 && o.watch > 0 {
		return app.Usagef("--wait-all and --watch exclude each other: " +
			"the one ends when all masters vote, the other never")
	}
	fleet, err := observe.OpenFleet(cmd, a, o.SharedFlags, &o.AccessFlags)
	if err != nil {
		return err
	}
	defer fleet.Close()
	s := &statusView{
		Looks: app.NewLooks(a, o.SharedFlags, o.watch), wide: func() term.Layout { return term.LayoutFor(a.Out) },
		inspector: fleet.Client, tokens: o.showTokens, now: time.Now, verdict: fleet.Verdict, waiting: fleet.Waiting,
	}
	if o.quiet {
		s.Out = io.Discard
	}
	if o.waitAll > 0 {
		s.awaited = true
		s.verdict = func(ctx context.Context) *observe.Verdict { return awaitAll(ctx, o.waitAll, fleet) }
	}
	return s.show(cmd.Context(), keys, o.watch)
}

// votesEvery is how often awaitAll asks whether all masters vote.
const votesEvery = 500 * time.Millisecond

// awaitAll looks until all masters vote, at most for most, and returns the last verdict.
func awaitAll(ctx context.Context, most time.Duration, fleet *observe.Fleet) *observe.Verdict {
	for began := time.Now(); ; {
		v := fleet.Verdict(ctx)
		if v.AllVote() || time.Since(began) >= most || app.Sleep(ctx, votesEvery) != nil {
			return v
		}
	}
}

// verdictCodes are the exit codes of a key.
var verdictCodes = map[redlock.Verdict]int{
	redlock.VerdictFree:    app.ExitOK,
	redlock.VerdictHeld:    app.ExitOK,
	redlock.VerdictSplit:   app.ExitFailed,
	redlock.VerdictPartial: app.ExitFailed,
	redlock.VerdictUnknown: app.ExitNoQuorum,
}

// A statusView shows inspections.
type statusView struct {
	app.Looks
	wide      func() term.Layout
	inspector observe.Inspector
	awaited   bool                                                         // all masters have to vote
	tokens    bool                                                         // shown in full
	verdict   func(ctx context.Context) *observe.Verdict                   // nil: nobody is asked
	waiting   func(ctx context.Context, key string) *observe.WaitingStatus // nil: nobody is asked
	now       func() time.Time
}

// show looks at the keys, once or (every > 0) until ctx ends.
func (s *statusView) show(ctx context.Context, keys []string, every time.Duration) error {
	return app.Watching(ctx, every, func() (int, error) { return s.look(ctx, keys) })
}

// look asks once, and prints what the masters say.
func (s *statusView) look(ctx context.Context, keys []string) (code int, err error) {
	document, text, l := &StatusDocument{}, &bytes.Buffer{}, s.wide()
	if s.verdict != nil {
		if document.Verdict = s.verdict(ctx); ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		observe.PrintVerdict(text, l, document.Verdict)
		switch {
		case !document.CanLock:
			code = app.ExitNoQuorum
		case s.awaited && !document.AllVote():
			code = app.ExitFailed
		}
	}
	for i, key := range keys {
		in, err := s.inspector.Inspect(ctx, key)
		if err != nil {
			return 0, app.InspectionError(ctx, err)
		}
		code = max(code, verdictCodes[in.Verdict])
		said := explain.Sentence(in, s.now())
		status := statusOf(in, said, s.token)
		if s.waiting != nil {
			status.Waiting = s.waiting(ctx, key)
		}
		document.Keys = append(document.Keys, status)
		if i > 0 || document.Verdict != nil {
			text.WriteByte('\n')
		}
		render(text, l, in, said, s.token)
		if status.Waiting != nil {
			status.Waiting.Print(text, l)
		}
	}
	return code, s.Print(document, text)
}

// render prints one key for people: the sentence, and a row for each master.
func render(b *bytes.Buffer, l term.Layout, in *redlock.Inspection, said string, shown func(string) string) {
	l.Text(b, "", 0, term.Printable(in.Key)+": "+said)
	rows := [][]string{{"master", "holder", "left", "round trip", "token"}}
	for _, m := range in.Masters {
		switch h := m.Held; {
		case m.Err != nil:
			rows = append(rows, []string{m.Master, "✗ " + term.Clean(explain.Short(m.Err))})
		case h == nil:
			rows = append(rows, []string{m.Master, "free", "–", roundTrip(m.RoundTrip), "–"})
		case h.Readers > 0:
			rows = append(rows, rowsOfReaders(&m, shown)...)
		default:
			rows = append(rows, []string{
				m.Master, rowHolder(h), explain.RowTTL(h.TTL), roundTrip(m.RoundTrip), rowToken(shown(h.Token)),
			})
		}
	}
	l.Table(b, term.Table{Rows: rows, Spare: []int{3, 4}, Paragraph: func(row []string) string {
		if len(row) < len(rows[0]) {
			return strings.TrimPrefix(strings.Join(row, ": "), ": ")
		}
		text := fmt.Sprintf("%s: %s, left %s, round trip %s, token %s",
			row[0], row[1], row[2], cmp.Or(row[3], "–"), row[4])
		return strings.TrimPrefix(text, ": ")
	}})
}

// shownReaders is how many readers of a master have a row.
const shownReaders = 5

// rowsOfReaders returns a row for each reader of a master, those that stay longest first.
func rowsOfReaders(m *redlock.MasterHold, shown func(string) string) [][]string {
	var rows [][]string
	for i, r := range m.Readers {
		master, trip := "", ""
		if i == 0 {
			master, trip = m.Master, roundTrip(m.RoundTrip)
		}
		if i == shownReaders {
			break
		}
		name := "no name"
		if r.Owner != "" {
			name = term.Printable(r.Owner)
		}
		rows = append(rows, []string{master, "reader " + name, explain.RowTTL(r.TTL), trip, rowToken(shown(r.Token))})
	}
	if more := m.Held.Readers - len(rows); more > 0 {
		rows = append(rows, []string{"", fmt.Sprintf("and %d readers more", more)})
	}
	return rows
}

func rowHolder(h *redlock.Holder) string {
	switch {
	case h.Type != "string":
		return "a " + term.Printable(h.Type)
	case h.Owner != "":
		return term.Printable(h.Owner)
	default:
		return "no name"
	}
}

// token returns a token as far as it is shown: anybody who knows it in full can release the lock.
func (s *statusView) token(token string) string {
	if s.tokens || token == "" {
		return token
	}
	return tokens.Short(token)
}

func rowToken(token string) string {
	if token == "" {
		return "–"
	}
	return term.Unmoving(token)
}

func roundTrip(d time.Duration) string {
	if d <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
