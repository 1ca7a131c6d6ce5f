package voters

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// An inquiry is a question of the Monitor's to one master, on one connection:
// an answer that came by another counts for nothing. It is used once.
type inquiry struct {
	g       *Monitor
	i       int
	epoch   uint64
	purpose purpose
	calls   []pipeline.Call
	sent    drift.Instant // before any of them is written
	done    chan struct{} // closed when it was answered; nil: nobody waits
	result  guard.Marker  // with done
	err     error         // with done

	// Guarded by the Monitor's mu.
	left int
}

type purpose uint8

const (
	askLook    purpose = iota // INFO, and the dial script
	askDeclare                //
	askAdopt                  //
	askInit                   //
	askTime                   //
)

// writes reports whether it is a marker that is asked for. (Where one is due the
// dial script of a look writes one as well.)
func (p purpose) writes() bool { return p != askLook && p != askTime }

// waitForDial is how long the reply of a script that compares clocks is waited
// for; later ones tell nothing.
const waitForDial = time.Second

// infoSections are asked for one at a time: all at once needs Redis 7.0.
var infoSections = []string{"server", "replication", "memory"}

// look makes the inquiry that tells all of a master. The caller must hold g.mu.
func (g *Monitor) look(i int) *inquiry {
	w := &g.masters[i]
	q := g.newInquiry(i, askLook, len(infoSections)+1)
	for _, section := range infoSections {
		q.add("INFO", section)
	}
	if w.run != "" {
		q.add("EVAL", guard.Dial.EvalArgs(g.cfg.DialArgs(w.run, q.sent.Wall(), waitForDial))...)
	}
	return q
}

// ask makes the inquiry that runs one script. The caller must hold g.mu.
func (g *Monitor) ask(i int, p purpose, s *script.Script, args []any) *inquiry {
	q := g.newInquiry(i, p, 1)
	q.add("EVAL", s.EvalArgs(args)...)
	return q
}

// askTime makes the inquiry that reads a master's clock. The caller must hold
// g.mu.
func (g *Monitor) askTime(i int) *inquiry {
	q := g.newInquiry(i, askTime, 1)
	q.add("TIME")
	return q
}

func (g *Monitor) newInquiry(i int, p purpose, calls int) *inquiry {
	w := &g.masters[i]
	q := &inquiry{
		g: g, i: i, epoch: w.epoch, purpose: p, sent: g.clock.Now(),
		calls: make([]pipeline.Call, 0, calls),
	}
	w.asking, w.asked = q, time.Now()
	w.every = meterEvery - g.chance.N("meter", meterEvery/10)
	return q
}

func (q *inquiry) add(cmd string, args ...any) {
	asked := &pipeline.Command{Cmd: cmd, Encoded: pipeline.AppendCommand(nil, cmd, args...), Owner: q}
	q.calls = append(q.calls, pipeline.Call{Command: asked, Slot: q.i})
	q.left++
}

func (q *inquiry) pointers() []*pipeline.Call {
	all := make([]*pipeline.Call, len(q.calls))
	for i := range q.calls {
		all[i] = &q.calls[i]
	}
	return all
}

func (q *inquiry) enqueue() {
	for _, call := range q.pointers() {
		q.g.pipes[q.i].Enqueue(call)
	}
}

// Abandoned implements pipeline.Owner.
func (q *inquiry) Abandoned(*pipeline.Call) bool { return false }

// Delayed implements pipeline.Owner. It is not called: no inquiry is kept.
func (q *inquiry) Delayed(*pipeline.Call, error) {}

// Complete implements pipeline.Owner.
func (q *inquiry) Complete(*pipeline.Call) {
	g := q.g
	g.mu.Lock()
	defer g.unlock()
	if q.left--; q.left > 0 {
		return
	}
	if w := &g.masters[q.i]; w.asking == q {
		w.asking = nil
		if w.epoch == q.epoch && !g.closed {
			q.conclude(w)
			g.judge()
		}
	}
	if q.done != nil {
		close(q.done)
	}
}

// conclude takes the answers into what is known of the master. The caller must
// hold g.mu.
func (q *inquiry) conclude(w *watched) {
	received := q.g.clock.Now()
	if q.purpose == askTime {
		q.concludeTime(w, received)
		return
	}
	last := &q.calls[len(q.calls)-1]
	if q.purpose == askLook {
		w.looks++
		if err := q.readInfo(w); err != nil {
			w.facts.MarkerErr, w.failed = err, true
			return
		}
		if w.run == "" {
			// Known after all: the script can be run with it.
			if w.run = w.facts.Info.RunID; w.run != "" {
				q.g.send = append(q.g.send, q.g.look(q.i))
			}
			return
		}
	}
	m, err := guard.ParseMarker(last.Reply, q.sent, received)
	switch {
	case last.Err != nil || last.Epoch != q.epoch:
		err = last.Err
	case err == nil && received.MonotonicSub(q.sent) > waitForDial && q.g.cfg.Level == guard.Strict:
		err = pipeline.ErrTimeout
	}
	q.result, q.err = m, err
	if err != nil {
		w.facts.MarkerErr, w.failed = err, true
		return
	}
	w.failed = false
	if m.Verdict == guard.Created {
		w.created = m.Since
	}
	w.facts.Answer(m)
	if m.Verdict != guard.Missing {
		w.looks = 0
	}
	q.g.addReading(q.i, m.Clock)
	if m.Verdict == guard.Present && q.purpose != askInit {
		q.g.send = append(q.g.send, q.g.look(q.i))
	}
}

// readInfo takes what INFO says. An error means that it has to be asked again;
// where it is refused for good the facts say so. The caller must hold g.mu.
func (q *inquiry) readInfo(w *watched) error {
	var texts [][]byte
	var refused error
	for i := range infoSections {
		call := &q.calls[i]
		text, ok := call.Reply.([]byte)
		switch {
		case call.Err == nil && call.Epoch == q.epoch && ok:
			texts = append(texts, text)
		case call.Err == nil:
			return pipeline.ErrProtocol
		case !isRefusal(call.Err):
			return call.Err
		default:
			refused = call.Err
		}
	}
	w.facts.Info, w.facts.InfoErr = guard.ParseInfo(texts...)
	if refused != nil {
		w.facts.InfoErr = refused
	}
	w.looked = true
	return nil
}

// isRefusal reports whether a master will not do something however often it is
// asked: it is not permitted, or unknown.
func isRefusal(err error) bool {
	_, config := errors.AsType[*pipeline.ConfigError](err)
	return config || pipeline.IsReply(err) && strings.HasPrefix(err.Error(), "ERR ")
}

// isDemotion reports whether an error reply means that the master is a replica,
// or is reading another's data.
func isDemotion(err error) bool {
	if !pipeline.IsReply(err) {
		return false
	}
	for _, prefix := range []string{"READONLY", "LOADING", "MASTERDOWN"} {
		if strings.HasPrefix(err.Error(), prefix) {
			return true
		}
	}
	return false
}

// concludeTime takes a look at the master's clock. The caller must hold g.mu.
func (q *inquiry) concludeTime(w *watched, received drift.Instant) {
	call := &q.calls[0]
	at, ok := readTime(call.Reply)
	if call.Err != nil || call.Epoch != q.epoch || !ok {
		return
	}
	w.facts.Clock = drift.Reading{Sent: q.sent, Received: received, Time: at}
	q.g.addReading(q.i, w.facts.Clock)
}

// readTime reads the reply of TIME: seconds and microseconds.
func readTime(reply any) (time.Time, bool) {
	parts, ok := reply.([]any)
	if !ok || len(parts) != 2 {
		return time.Time{}, false
	}
	var numbers [2]int64
	for i, part := range parts {
		text, ok := part.([]byte)
		n, err := strconv.ParseInt(string(text), 10, 53)
		if !ok || err != nil || n < 0 {
			return time.Time{}, false
		}
		numbers[i] = n
	}
	return time.Unix(numbers[0], numbers[1]*int64(time.Microsecond)), true
}
