package voters

import (
	"errors"
	"strings"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// An inquiry is a question of the Monitor to one master, on one connection. An answer
// on another connection does not count. An inquiry is used once.
type inquiry struct {
	g       *Monitor
	i       int
	epoch   uint64
	purpose purpose
	calls   []pipeline.Call
	script  int           // index of the call whose script answers with a marker
	sent    drift.Instant // before any of them is written
	done    chan struct{} // closed when it was answered; nil: nobody waits
	result  guard.Marker  // with done
	err     error         // with done

	// Guarded by the Monitor's mu.
	left     int
	leftInfo int  // of those, the calls of a look that ask for INFO
	wrote    bool // the write of a look was answered
}

type purpose uint8

const (
	askLook purpose = iota // INFO, and the dial script
	askDeclare
	askAdopt
	askInit
)

// writes reports whether the purpose is to write a marker. (The dial script of a look also writes
// one if it is due.)
func (p purpose) writes() bool { return p != askLook }

// waitForDial is how long a script that compares clocks may take to reply. A later
// reply says nothing.
const waitForDial = time.Second

// infoSections are asked for one by one: several in one INFO need Redis 7.0.
var infoSections = []string{"server", "replication", "memory"}

// The calls of a look, in their order: INFO, the probe by EVAL and by EVALSHA, a write, the dial
// script and the list's script. While the run_id is not known, a look leaves out the last two,
// except with ReadOnly.
const (
	callProbe    = 3 // len(infoSections)
	callProbeSHA = callProbe + 1
	callWrite    = callProbeSHA + 1
	lookCalls    = callWrite + 3
)

// addLook adds all of them except the last two.
func (q *inquiry) addLook() {
	for _, section := range infoSections {
		q.add("INFO", section)
		q.leftInfo++
	}
	q.addScript(guard.Probe, guard.Probe.Args(nil, nil, "1"))
	q.add("EVALSHA", guard.Probe.Args(nil, nil)...)
	q.add("SET", guard.ProbeKey, "", "XX")
}

// look makes the inquiry that asks for everything about a master. The caller must hold g.mu.
func (g *Monitor) look(i int) *inquiry {
	w := &g.masters[i]
	q := g.newInquiry(i, askLook, lookCalls)
	q.begin()
	q.addLook()
	if w.run != "" || g.cfg.ReadOnly {
		q.addDial(q.target())
	}
	return q
}

// greeting makes the inquiry that goes out with the first handshake. It is a look whose
// script finds the run_id by itself. It has no connection yet, so it does not count as
// under way. The caller must hold g.mu.
func (g *Monitor) greeting(i int) *inquiry {
	q := g.newInquiry(i, askLook, lookCalls)
	q.addLook()
	q.addDial(guard.Target{
		DB: g.cfg.Masters[i].DB(), Seen: g.masters[i].facts.Seen, Sent: q.sent.Wall(), Wait: waitForDial,
	})
	return q
}

// addDial adds the last two. With ReadOnly the dial script writes no marker, and does not get what
// was seen before: that may be what it would have written.
func (q *inquiry) addDial(t guard.Target) {
	args := q.g.cfg.Guard.DialArgs
	if q.g.cfg.ReadOnly {
		args, t.Seen = q.g.cfg.Guard.LookArgs, ""
	}
	q.script = len(q.calls)
	q.addScript(guard.Dial, args(t))
	q.addScript(guard.List, guard.ListArgs(q.g.list, q.g.cfg.ReadOnly))
}

// suffices reports whether a greeting says as much as a look about the connection that has
// come up. If not, the master is looked at as usual.
func (q *inquiry) suffices(epoch uint64, runID string) bool {
	for i := range q.calls[:q.script+1] {
		if c := &q.calls[i]; c.Epoch != epoch || c.Err != nil && i != callProbeSHA && i != callWrite {
			return false
		}
	}
	received := q.g.cfg.Clock.Now()
	m, err := q.marker(received)
	return err == nil && runID != "" && received.MonotonicSub(q.sent) <= waitForDial && (m.Run == "" || m.Run == runID)
}

// target is what the scripts of this inquiry get as arguments. The caller must hold g.mu.
func (q *inquiry) target() guard.Target {
	w := &q.g.masters[q.i]
	return guard.Target{
		Run: w.run, DB: w.facts.DB, Seen: w.facts.Seen, Aged: w.facts.Aged(q.g.cfg.Guard, q.sent),
		Sent: q.sent.Wall(), Wait: waitForDial,
	}
}

func (q *inquiry) addScript(s *script.Script, args []any) { q.add("EVAL", s.EvalArgs(args)...) }

// ask makes the inquiry that runs one script. The caller must hold g.mu.
func (g *Monitor) ask(i int, p purpose, s *script.Script, args func(guard.Target) []any) *inquiry {
	q := g.newInquiry(i, p, 1)
	q.begin()
	q.addScript(s, args(q.target()))
	return q
}

func (g *Monitor) newInquiry(i int, p purpose, calls int) *inquiry {
	return &inquiry{
		g: g, i: i, epoch: g.masters[i].epoch, purpose: p, sent: g.cfg.Clock.Now(),
		calls: make([]pipeline.Call, 0, calls),
	}
}

// begin notes that the inquiry is under way. The caller must hold g.mu.
func (q *inquiry) begin() {
	w := &q.g.masters[q.i]
	w.asking, w.asked = q, time.Now()
	w.every = lookEvery - q.g.cfg.Chance.N("meter", lookEvery/10)
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
		q.g.cfg.Masters[q.i].Enqueue(call)
	}
}

// Abandoned implements pipeline.Owner.
func (q *inquiry) Abandoned(*pipeline.Call) bool { return false }

// Delayed implements pipeline.Owner. It is not called: no inquiry sets Command.RetryUntil.
func (q *inquiry) Delayed(*pipeline.Call, error) {}

// Complete implements pipeline.Owner.
func (q *inquiry) Complete(call *pipeline.Call) {
	g := q.g
	g.mu.Lock()
	defer g.unlock()
	switch call.Cmd {
	case "INFO":
		q.leftInfo--
	case "SET":
		q.wrote = true
	}
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

// conclude adds the answers to what is known of the master. The caller must hold g.mu.
func (q *inquiry) conclude(w *masterState) {
	received := q.g.cfg.Clock.Now()
	if q.purpose == askLook {
		w.looks++
		q.readWrite(w) // a master that is busy refuses INFO as well
		if err := q.readInfo(w); err != nil {
			w.failedBy(err)
			return
		}
		q.readProbe(w)
		if w.run == "" {
			w.run = w.facts.Info.RunID
			if !q.g.cfg.ReadOnly { // with ReadOnly the script was sent all the same
				if w.run != "" {
					// It is known now: the script can be run with it.
					q.g.send = append(q.g.send, q.g.look(q.i))
				}
				return
			}
		}
	}
	q.result, q.err = q.marker(received)
	if q.err != nil {
		w.failedBy(q.err)
		return
	}
	m := q.result
	q.addReading(m.Clock)
	w.failed = false
	q.readList(w)
	w.facts.Answer(m)
	if q.purpose == askAdopt && m.Verdict == guard.Adopted && q.g.votes >= q.g.cfg.Need {
		q.g.cfg.Deliverer.Warn("a master without a marker was taken into a fleet that votes: "+
			"it is new, has lost its data, or is none of the fleet's; compare the lists of masters",
			"master", w.facts.Master, "without_since", m.WithoutSince())
	}
	if m.Verdict != guard.Missing {
		w.looks = 0
	}
	if m.Verdict == guard.Present && q.purpose != askInit {
		q.g.send = append(q.g.send, q.g.look(q.i))
	}
}

// marker is what the script has answered. An answer on another connection is an error; in strict,
// so is one that came too late.
func (q *inquiry) marker(received drift.Instant) (guard.Marker, error) {
	last := &q.calls[q.script]
	switch {
	case last.Err != nil:
		return guard.Marker{}, last.Err
	case last.Epoch != q.epoch:
		return guard.Marker{}, pipeline.ErrConnectionLost
	case received.MonotonicSub(q.sent) > waitForDial && q.g.cfg.Guard.Level == guard.Strict:
		return guard.Marker{}, pipeline.ErrTimeout
	}
	return guard.ParseMarker(last.Reply, q.sent, received)
}

// failedBy notes that an inquiry has failed. What earlier inquiries on this connection have found
// stays valid, unless the master refuses to say it again. The check at the end of each flush still
// notices changes.
func (w *masterState) failedBy(err error) {
	w.failed = true
	if isRefusal(err) || !w.facts.Marker.Written() || w.facts.Changed {
		w.facts.MarkerErr = err
	}
}

// readInfo reads what INFO says. An error means: ask again. Where INFO is refused for
// good, the facts say so. The caller must hold g.mu.
func (q *inquiry) readInfo(w *masterState) error {
	var texts [][]byte
	var refused error
	for i := range infoSections {
		call := &q.calls[i]
		text, ok := call.Reply.([]byte)
		switch {
		case call.Err == nil && call.Epoch != q.epoch:
			return pipeline.ErrConnectionLost
		case call.Err == nil && ok:
			texts = append(texts, text)
		case call.Err == nil:
			return pipeline.ErrProtocol
		case !isRefusal(call.Err) && !guard.NoSection(call.Err):
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

// readProbe reads which commands the master refuses. The caller must hold g.mu.
func (q *inquiry) readProbe(w *masterState) {
	probe, bySHA := &q.calls[callProbe], &q.calls[callProbeSHA]
	if probe.Epoch == q.epoch && bySHA.Epoch == q.epoch {
		refused, answered := w.facts.Refused.ReadProbe(probe.Reply, probe.Err, bySHA.Err)
		w.facts.Refused, w.probed = refused, w.probed || answered
	}
}

// readWrite reads whether the master takes the write of a lock. An error that this user may not
// write, or not that key, says nothing here: the probe finds what is not permitted. The caller must
// hold g.mu.
func (q *inquiry) readWrite(w *masterState) {
	call := &q.calls[callWrite]
	switch _, denied := errors.AsType[*pipeline.ConfigError](call.Err); {
	case call.Err == nil || denied:
		w.facts.NoWrites = nil
	case pipeline.IsReply(call.Err):
		w.facts.NoWrites = call.Err
	}
}

// writeBound is how long a master has to take a write, or two round trips if they are longer. By
// default only acquisitions, and operations on masters far away, wait for longer.
const writeBound = 500 * time.Millisecond

// noWrites is why a master with this round trip takes no write of a lock; nil: it does, as far as
// is known. The caller must hold the Monitor's mu.
func (w *masterState) noWrites(roundTrip time.Duration) error {
	if q := w.asking; q != nil && q.purpose == askLook && !q.wrote &&
		time.Since(w.asked) > max(writeBound, 2*roundTrip) {
		return pipeline.ErrTimeout
	}
	return w.facts.NoWrites
}

// readList reads which list of masters is in use, and warns once of another one. The caller must hold g.mu.
func (q *inquiry) readList(w *masterState) {
	if q.purpose != askLook {
		return
	}
	call, g := &q.calls[q.script+1], q.g
	other, ok := guard.ReadList(call.Reply, g.list)
	if call.Err != nil || call.Epoch != q.epoch || !ok {
		return
	}
	if w.facts.OtherList = other; other.Digest != "" && !g.listLogged && !g.cfg.ReadOnly {
		g.listLogged = true
		g.cfg.Deliverer.Warn("a client with another list of masters uses this one, "+
			"or spells the list in another way: give all clients the same list",
			"master", w.facts.Master, "list", other.Digest, "ours", g.list)
	}
}

// isRefusal reports whether asking again is useless: the command is not permitted, or
// the master does not know it.
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
