package redlock

import (
	"context"
	"math"
	"time"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/wakeup"
	"github.com/redquorum/redquorum/internal/wire"
)

// slots are the queues of one who wants one of several keys: those of all keys,
// each at its own pilot, so that whoever gives one of them back, also as a plain
// lock, finds it there. When it is its turn for a key it takes that one as a
// plain lock is taken, the pilot first. They belong to the contender's goroutine.
type slots struct {
	w      *contender
	turns  []wakeup.Call        // that it was told of and has not acted on
	queued map[wakeup.Call]bool // places that it may have
	keys   []string
}

func newSlots(w *contender) *slots {
	s := &slots{w: w, queued: make(map[wakeup.Call]bool), keys: make([]string, len(w.l.claim.Keys))}
	for i, key := range w.l.claim.Keys {
		s.keys[i] = key.(string)
	}
	return s
}

// hear takes notice of the turns that it has been told of by now, and reports
// whether there are any.
func (s *slots) hear() (heard bool) {
	for {
		select {
		case turn := <-s.w.waiter.Woken():
			s.called(turn)
			heard = true
		default:
			return heard
		}
	}
}

// called takes notice of a turn.
func (s *slots) called(turn wakeup.Call) { s.turns = append(s.turns, turn) }

// nextTry is that of the contender.
func (s *slots) nextTry(ctx context.Context) (try, error) {
	w := s.w
	for {
		if w.out.failures > 0 || !w.c.quorumConnected() {
			return w.sleepBlind(ctx, nil)
		}
		if len(s.turns) > 0 {
			return s.tryTurn, w.pauseAfterCollision(ctx)
		}
		if !w.heard {
			switch nobody, cause := s.look(ctx); {
			case cause != nil:
				return nil, cause
			case nobody:
				return w.sleepBlind(ctx, nil)
			default:
				continue // a turn, or other pilots
			}
		}
		w.heard = false
		delay := freeIn(&w.turn, w.c.opts.chance, minRetryDelay+w.c.opts.chance.N("poll", maxRetryDelay-minRetryDelay))
		woken, cause := w.sleep(ctx, delay, nil)
		if cause != nil {
			return nil, cause
		}
		if w.polls++; !woken && w.polls >= pollsPerAttempt {
			return w.tryAll, nil
		}
	}
}

// look asks all pilots for our turn, and keeps our places there. nobody: there
// is none to ask. The error is what ended the waiting.
func (s *slots) look(ctx context.Context) (nobody bool, cause error) {
	w, c := s.w, s.w.c
	byPilot := make([][]string, len(c.masters))
	passed := w.refusals.Masters(c.pilots)
	nobody = true
	for _, key := range s.keys {
		if master := c.pilots.Of(key, passed); master != pilot.None {
			nobody = false
			byPilot[master] = append(byPilot[master], key)
		}
	}
	if cause := s.subscribe(ctx, byPilot); cause != nil {
		return false, cause
	}
	asked := make([]wire.KeysQuery, len(byPilot))
	limit := time.Duration(0)
	for pilot, keys := range byPilot {
		if keys == nil {
			continue
		}
		for _, key := range keys {
			s.queued[wakeup.Call{Master: pilot, Key: key}] = true
		}
		asked[pilot] = c.wire.WaitAtEach(pilot, keys, w.age())
		limit = max(limit, c.patience(pilot, w.l.claim.TTL))
	}
	until := time.Now().Add(limit)
	var soonest wire.Turn
	for pilot, q := range asked {
		if byPilot[pilot] == nil {
			continue
		}
		w.pilot = pilot
		t, key, err := q.Answer(ctx, max(0, time.Until(until)))
		if cause := w.note(&t, err); cause != nil {
			return false, cause
		}
		switch {
		case err != nil:
		case t.Ours:
			s.called(wakeup.Call{Master: pilot, Key: key})
		default:
			t.Held.Key = c.withoutPrefix(key)
			if soonest.Held == nil || expiry(&t) < expiry(&soonest) {
				soonest = t
			}
		}
	}
	if w.heard {
		w.turn = soonest
	}
	return nobody, nil
}

// subscribe has the wake-ups of the pilots heard; those that cannot be heard for
// now are left out.
func (s *slots) subscribe(ctx context.Context, byPilot [][]string) error {
	t := time.NewTimer(wire.LeastPatience)
	defer t.Stop()
	late := false
	for pilot := range byPilot {
		if byPilot[pilot] == nil {
			continue
		}
		ready := s.w.waiter.Subscribe(pilot)
		select {
		case <-ready:
			continue
		default:
		}
		if late {
			byPilot[pilot] = nil
			continue
		}
		select {
		case <-ready:
		case <-t.C:
			late, byPilot[pilot] = true, nil
		case <-ctx.Done():
			return ctx.Err()
		case <-s.w.c.life.Done():
			return context.Cause(s.w.c.life)
		}
	}
	return nil
}

// tryTurn takes the key whose turn was first: the pilot is asked alone, and the
// others once it has granted it.
func (s *slots) tryTurn(ctx context.Context) (*outcome.Failure, bool) {
	w, c := s.w, s.w.c
	c.unfinished.Add()
	defer c.unfinished.Done()
	at := s.turns[0]
	s.turns = s.turns[1:]
	w.pilot, w.heard = at.Master, false
	s.queued[at] = true
	l := w.l.slot(at.Key)
	granted, t, err := c.take(ctx, l, at.Master, wire.Place{Score: w.age(), OnlyFirst: l.opts.fair})
	var failed *outcome.Failure
	if granted {
		delete(s.queued, at)
		s.giveBack() // at once: it is others' turn there
		failed = w.asked(c.fanOut(ctx, l, 1<<at.Master, false))
		if failed == nil {
			w.l, w.collisions = l, 0
			return nil, true
		}
		w.collisions++
		s.queued[at] = true // nobody was told of the rollback
	} else {
		if err == nil {
			t.Held.Key = c.withoutPrefix(at.Key)
		}
		cause := w.note(&t, err)
		if !w.heard && cause == nil {
			return nil, false
		}
		failed = c.takenAt(l, at.Master, t.Held)
		failed.Cause = cause
	}
	failed.Key, failed.Others = w.l.key, len(w.l.others)
	return failed, true
}

// slot is a handle for an attempt at one of the keys, as the plain lock that it
// is then.
func (l *Lock) slot(key string) *Lock {
	one := l.again()
	one.key, one.others = l.c.withoutPrefix(key), nil
	one.claim.SetPlain(key)
	return one
}

// giveBack leaves the queues. Where the keys are free the next ones are told.
func (s *slots) giveBack() {
	c := s.w.c
	s.hear()
	for _, at := range s.turns {
		s.queued[at] = true
	}
	s.turns = nil
	left := make([][]string, len(c.masters))
	for master := range left {
		for _, key := range s.keys {
			if s.queued[wakeup.Call{Master: master, Key: key}] {
				left[master] = append(left[master], key)
			}
		}
	}
	clear(s.queued)
	for master, keys := range left {
		if keys != nil {
			c.wire.LeaveEach(master, keys)
		}
	}
}

// leave ends the waiting. Turns that were not acted on are passed on.
func (s *slots) leave() {
	for _, at := range append(s.turns, s.w.waiter.Leave()...) {
		delete(s.queued, at)
		s.w.c.passOn(at.Master, at.Key)
	}
	s.turns = nil
	s.giveBack()
}

// expiry is when what was said to be in the way will be gone.
func expiry(t *wire.Turn) time.Duration {
	if t.Held.TTL <= 0 {
		return math.MaxInt64
	}
	return t.Held.TTL
}
