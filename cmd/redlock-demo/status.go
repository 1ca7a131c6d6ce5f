package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/doctor"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/trouble"
	tokens "github.com/redquorum/redquorum/internal/token"
	"github.com/redquorum/redquorum/redlock"
)

const statusExamples = `  redlock-demo status invoices
  redlock-demo status --watch=500ms invoices deploy
  redlock-demo status --check --quiet deploy && echo "nobody deploys"
  redlock-demo status --json invoices | jq -r '.keys[].verdict'`

// statusOptions are the flags of status.
type statusOptions struct {
	*sharedFlags
	accessFlags
	watch        time.Duration // 0: one look
	check, quiet bool
	showTokens   bool
}

func newStatus(a *app, shared *sharedFlags) *cobra.Command {
	o := &statusOptions{sharedFlags: shared}
	cmd := &cobra.Command{
		Use:   "status [flags] KEY...",
		Short: "Show whether locks can be taken, and who holds one",
		Long: `status says first whether a lock can be taken now, and if not, until when and
what helps, as doctor does. Then it asks every master who holds the locks, and says
what that amounts to: a lock is held by whom a quorum of the masters names. It also
tells which clients wait for it in its queue; those of other libraries, readers,
and who polls are in none. It changes no lock. On a master that has no marker it
notes since when that is so.

Exit code: 69 when no lock can be taken now, or too few masters answer to tell who
holds one; else the greatest of all keys': 0 when the lock is free or somebody
holds it on a quorum, 1 when neither is so (attempts that collide look like that
for a moment); 64 for a mistake in the arguments. With --check 0 and 1 mean
something else: 1 when somebody holds one of the locks on a quorum, 0 when nobody
does.`,
		Example: statusExamples,

		Annotations: map[string]string{heeds: "masters config max-ttl client-skew json"},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no key is named: want %s KEY... (see %[1]s --help)", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, keys []string) error { return runStatus(cmd, a, o, keys) },
	}
	registerWatch(cmd, &o.watch)
	cmd.Flags().BoolVar(&o.check, "check", false, "let the exit code say whether somebody holds the lock: 1, or 0 where nobody does")
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "print nothing: the exit code says it")
	cmd.Flags().BoolVar(&o.showTokens, "show-tokens", false, "print tokens in full: whoever has one can release its lock")
	o.accessFlags.register(cmd)
	return cmd
}

func runStatus(cmd *cobra.Command, a *app, o *statusOptions, keys []string) error {
	if err := checkWatch(cmd, o.watch, "KEY...", keys); err != nil {
		return err
	}
	if o.quiet && o.watch > 0 {
		return usagef("--quiet and --watch exclude each other: nothing would be shown again and again")
	}
	ctx := cmd.Context()
	options, err := verdictOptions(cmd, a, o.sharedFlags, &o.accessFlags)
	if err != nil {
		return err
	}
	masters, err := openLooker(cmd, a, o.sharedFlags, &o.accessFlags)
	if err != nil {
		return err
	}
	defer masters.close()
	s := &statusView{out: a.out, tokens: o.showTokens, wide: func() layout { return layoutFor(a.out) }, json: o.json, verdict: verdicts(options, doctor.Client{MaxTTL: o.maxTTL, Skew: o.skew}), waiting: masters.queues.read, clear: o.watch > 0 && !o.json && isTerminal(a.out) && a.env("TERM") != "dumb"}
	if o.check {
		s.codes = checkCodes
	}
	if o.quiet {
		s.out = io.Discard
	}
	return s.show(ctx, masters.client, keys, o.watch)
}

// A statusView shows inspections.
type statusView struct {
	out     io.Writer
	json    bool
	tokens  bool                                                 // shown in full
	codes   map[redlock.Verdict]int                              // nil: verdictCodes
	verdict func(ctx context.Context) (*doctor.Verdict, error)   // nil: nobody is asked
	waiting func(ctx context.Context, key string) *waitingStatus // nil: nobody is asked
	clear   bool                                                 // the screen, before each look
	looks   int
	now     func() time.Time // nil: time.Now
	wide    func() layout    // nil: no terminal
}

// clock is what the time is.
func (s *statusView) clock() time.Time {
	if s.now != nil {
		return s.now()
	}
	return time.Now()
}

func (s *statusView) layout() layout {
	if s.wide == nil {
		return layout{}
	}
	return s.wide()
}

// show looks at the keys, once or (every > 0) until ctx ends.
func (s *statusView) show(ctx context.Context, who inspector, keys []string, every time.Duration) error {
	return watching(ctx, every, func() (int, error) { return s.look(ctx, who, keys) })
}

// look asks and prints once. What is printed is printed whole.
func (s *statusView) look(ctx context.Context, who inspector, keys []string) (code int, err error) {
	var text bytes.Buffer
	var document struct {
		*doctor.Verdict
		Keys []keyStatus `json:"keys"`
	}
	if s.verdict != nil {
		if document.Verdict, err = s.verdict(ctx); err != nil {
			return 0, inspectionError(ctx, err)
		}
		if s.looks > 0 && !s.clear {
			text.WriteByte('\n')
		}
		printVerdict(&text, s.layout(), document.Verdict)
		if !document.CanLock {
			code = exitNoQuorum
		}
	}
	for i, key := range keys {
		in, err := who.Inspect(ctx, key)
		if err != nil {
			return 0, inspectionError(ctx, err)
		}
		code = max(code, s.codeOf(in.Verdict))
		said := sentence(in, s.clock())
		status := statusOf(in, said, s.token)
		if s.waiting != nil {
			status.Waiting = s.waiting(ctx, key)
		}
		document.Keys = append(document.Keys, status)
		if i > 0 || document.Verdict != nil || s.looks > 0 && !s.clear {
			text.WriteByte('\n')
		}
		render(&text, s.layout(), in, said, s.token)
		if status.Waiting != nil {
			status.Waiting.print(&text, s.layout())
		}
	}
	if s.json {
		text.Reset()
		if err := json.NewEncoder(&text).Encode(document); err != nil {
			return 0, err
		}
	}
	s.looks++
	if s.clear {
		_, err = io.WriteString(s.out, "\x1b[H\x1b[J")
	}
	if err == nil {
		_, err = s.out.Write(text.Bytes())
	}
	if err != nil {
		return 0, &outputError{err}
	}
	return code, nil
}

// codeOf is the exit code for one key.
func (s *statusView) codeOf(v redlock.Verdict) int {
	if s.codes != nil {
		return s.codes[v]
	}
	return verdictCodes[v]
}

// render prints one key as people read it: the sentence, and a row a master.
func render(b *bytes.Buffer, l layout, in *redlock.Inspection, said string, shown func(string) string) {
	l.text(b, "", 0, printable(in.Key)+": "+said)
	rows := [][]string{{"master", "holder", "left", "round trip", "token"}}
	for _, m := range in.Masters {
		switch h := m.Held; {
		case m.Err != nil:
			rows = append(rows, []string{m.Master, "✗ " + visible(redacted(trouble.Short(m.Err)))})
		case h == nil:
			rows = append(rows, []string{m.Master, "free", "–", roundTrip(m.RoundTrip), "–"})
		case m.ReaderCount > 0:
			rows = append(rows, rowsOfReaders(&m, shown)...)
		default:
			rows = append(rows, []string{m.Master, rowHolder(h), rowTTL(h.TTL), roundTrip(m.RoundTrip), rowToken(shown(h.Token))})
		}
	}
	l.table(b, table{rows, []int{3, 4}, func(row []string) string {
		if len(row) < len(rows[0]) {
			return strings.TrimPrefix(strings.Join(row, ": "), ": ")
		}
		return strings.TrimPrefix(fmt.Sprintf("%s: %s, left %s, round trip %s, token %s", row[0], row[1], row[2], cmp.Or(row[3], "–"), row[4]), ": ")
	}})
}

// shownReaders is how many readers of a master have a row.
const shownReaders = 5

// rowsOfReaders gives each reader of a master a row, those that stay longest
// first.
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
			name = printable(r.Owner)
		}
		rows = append(rows, []string{master, "reader " + name, rowTTL(r.TTL), trip, rowToken(shown(r.Token))})
	}
	if more := m.ReaderCount - len(rows); more > 0 {
		rows = append(rows, []string{"", fmt.Sprintf("and %d readers more", more)})
	}
	return rows
}

const longestError = 120 // characters

func rowHolder(h *redlock.HeldError) string {
	switch {
	case h.Type != "string":
		return "a " + printable(h.Type)
	case h.Owner != "":
		return printable(h.Owner)
	default:
		return "no name"
	}
}

// token is a token as far as it is shown: with all of it anybody could release the
// lock.
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
	return unmoving(token)
}

func rowTTL(ttl time.Duration) string {
	switch {
	case ttl < 0:
		return "for ever"
	case ttl == 0:
		return "–"
	default:
		return seconds(ttl)
	}
}

func roundTrip(d time.Duration) string {
	if d <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

// A keyStatus is one key of what --json prints.
type keyStatus struct {
	Key      string         `json:"key"`
	Verdict  string         `json:"verdict"` // free, held, split, partial or unknown
	Sentence string         `json:"sentence"`
	Masters  []masterStatus `json:"masters"`
	Waiting  *waitingStatus `json:"waiting,omitempty"`
}

type masterStatus struct {
	Master      string         `json:"master"`
	State       string         `json:"state"` // free, held or error
	Type        string         `json:"type,omitempty"`
	Owner       string         `json:"owner,omitempty"`
	Token       string         `json:"token,omitempty"`  // its beginning, unless --show-tokens is given
	TTLMS       int64          `json:"ttl_ms,omitempty"` // -1: for ever
	ReaderCount int            `json:"reader_count,omitempty"`
	Readers     []readerStatus `json:"readers,omitempty"` // those that stay longest, 100 at the most
	RoundTripUS int64          `json:"round_trip_us,omitempty"`
	Error       string         `json:"error,omitempty"`
}

type readerStatus struct {
	Owner string `json:"owner,omitempty"`
	Token string `json:"token"`
	TTLMS int64  `json:"ttl_ms,omitempty"`
}

func statusOf(in *redlock.Inspection, said string, shown func(string) string) keyStatus {
	k := keyStatus{Key: in.Key, Verdict: verdictNames[in.Verdict], Sentence: said}
	for _, m := range in.Masters {
		row := masterStatus{Master: m.Master, State: "held", RoundTripUS: m.RoundTrip.Microseconds()}
		switch {
		case m.Err != nil:
			row.State, row.Error = "error", redacted(m.Err.Error())
		case m.Held == nil:
			row.State = "free"
		default:
			row.Type, row.Owner, row.Token = m.Held.Type, m.Held.Owner, shown(m.Held.Token)
			row.TTLMS = m.Held.TTL.Milliseconds()
			if m.Held.TTL < 0 {
				row.TTLMS = -1
			}
			row.ReaderCount = m.ReaderCount
			for _, r := range m.Readers {
				row.Readers = append(row.Readers, readerStatus{r.Owner, shown(r.Token), r.TTL.Milliseconds()})
			}
		}
		k.Masters = append(k.Masters, row)
	}
	return k
}
