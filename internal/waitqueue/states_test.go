package waitqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

func taken() *quorum.Failure { return &quorum.Failure{Kind: quorum.Taken, Need: 1, Total: 2} }

var stateNames = [...]string{
	inLocalQueue: "inLocalQueue", following: "following", probing: "probing", seeking: "seeking", unsubscribed: "unsubscribed", polling: "polling", asking: "asking", placed: "placed", queued: "queued",
	signaled: "signaled", myTurn: "myTurn", backoff: "backoff", checking: "checking", rechecking: "rechecking", elsewhere: "elsewhere", acquired: "acquired", ended: "ended",
}

func (s state) String() string { return stateNames[s] }

// steps has the transitions: from a state, in a situation, to a state by some actions.
var steps = []struct {
	from      state
	situation string
	want      *Options // nil: one key
	given     func(f *fake)
	to        state
	did       string
}{
	{inLocalQueue, "nobody waits longer", nil, nil, seeking, ""},
	{inLocalQueue, "nobody waits longer, and the key was contended", nil, func(f *fake) { f.w.again = true }, probing, ""},
	{inLocalQueue, "a set, and one of its keys was contended", &setWanted, func(f *fake) { f.w.again = true }, seeking, ""},
	{inLocalQueue, "an outage was too long for those before", nil, func(f *fake) { f.w.ticket.err = &quorum.Failure{} }, ended, ""},

	{probing, "the pilot grants, the others too", nil, func(f *fake) { f.granted = true }, acquired, "pilot p:a if first; all"},
	{probing, "the pilot grants, the others do not", nil, func(f *fake) { f.granted, f.all = true, taken() }, seeking, "pilot p:a if first; all"},
	{probing, "the pilot refuses", nil, nil, placed, "pilot p:a if first"},
	{probing, "the pilot is silent", nil, func(f *fake) { f.err = pipeline.ErrTimeout }, seeking, "pilot p:a if first"},
	{probing, "no quorum is connected", nil, func(f *fake) { f.connected = false }, polling, ""},
	{probing, "the pilot's calls are not heard yet", nil, (*fake).deafen, unsubscribed, ""},

	{seeking, "the pilot is there", nil, nil, asking, ""},
	{seeking, "another pilot is there", nil, func(f *fake) { f.one().pilot = 1 - f.pilot() }, asking, ""},
	{seeking, "no quorum is connected", nil, func(f *fake) { f.connected = false }, polling, ""},
	{seeking, "in an outage", nil, func(f *fake) { f.w.out.failures = 1 }, polling, ""},
	{seeking, "the pilot has refused its queue", nil, func(f *fake) {
		f.w.refusals.Add(f.w.room.cfg.Pilots, 0)
		f.w.refusals.Add(f.w.room.cfg.Pilots, 1)
	}, polling, ""},
	{seeking, "the pilot's calls are not heard yet", nil, (*fake).deafen, unsubscribed, ""},

	{unsubscribed, "the calls are heard in time", nil, func(f *fake) { f.w.last = taken(); f.w.queue.seek() }, seeking, ""},
	{unsubscribed, "the calls are not heard in time, the lock is taken", nil, func(f *fake) { f.deafen(); f.w.queue.seek(); f.all = taken() }, seeking, "all"},
	{unsubscribed, "the calls are not heard in time, the lock is free", nil, func(f *fake) { f.deafen(); f.w.queue.seek() }, acquired, "all"},

	{polling, "the lock is taken", nil, func(f *fake) { f.all = taken() }, seeking, "all"},
	{polling, "the lock is free", nil, nil, acquired, "all"},
	{polling, "there is no quorum", nil, func(f *fake) { f.all = &quorum.Failure{Total: 2, Need: 1} }, seeking, "all"},
	{polling, "there is no quorum for too long", nil, func(f *fake) { f.connected = false; f.all = &quorum.Failure{Total: 2, Need: 1, Elapsed: time.Hour} }, ended, "all"},
	{polling, "the context ends", nil, func(f *fake) { f.cancel() }, ended, ""},

	{asking, "it is our turn", nil, func(f *fake) { f.turn.Ours = true }, signaled, "wait p:a"},
	{asking, "it is our turn after a collision", nil, func(f *fake) { f.turn.Ours = true; f.w.counts.collisions = 1 }, myTurn, "wait p:a"},
	{asking, "it is a set's turn", &setWanted, func(f *fake) { f.turn.Ours = true }, myTurn, "wait p:a"},
	{asking, "it is our turn after collisions", nil, func(f *fake) { f.turn.Ours = true; f.w.counts.collisions = 2 }, backoff, "wait p:a"},
	{asking, "others are before us", nil, nil, queued, "wait p:a"},
	{asking, "the pilot's key is stale", nil, func(f *fake) { f.one().turn.stale = true }, rechecking, "wait p:a"},
	{asking, "the pilot's key is stale, and others are before one who is fair", &fairWanted, func(f *fake) { f.one().turn.stale = true }, queued, "wait p:a"},
	{asking, "the pilot's key is stale, and nobody is before one who is fair", &fairWanted, func(f *fake) { f.one().turn.stale, f.turn.First = true, true }, rechecking, "wait p:a"},
	{asking, "the pilot is silent", nil, func(f *fake) { f.err = pipeline.ErrTimeout }, seeking, "wait p:a"},
	{asking, "the context ends", nil, func(f *fake) { f.err = context.Canceled }, ended, "wait p:a"},

	{placed, "others are before us", nil, nil, queued, ""},
	{placed, "the pilot's key is stale", nil, func(f *fake) { f.one().turn.stale = true }, rechecking, ""},
	{placed, "another master is the pilot now", nil, func(f *fake) { f.one().pilot, f.one().turn.Ours = 1-f.pilot(), true }, asking, ""},
	{placed, "the pilot's calls were not heard for a while", nil, func(f *fake) { f.one().subscribed = make(chan struct{}) }, asking, ""},
	{placed, "no quorum is connected", nil, func(f *fake) { f.connected = false }, polling, ""},
	{placed, "the pilot's calls are not heard any more", nil, (*fake).deafen, unsubscribed, ""},

	{queued, "nobody calls", nil, nil, seeking, ""},
	{queued, "nobody calls for the fourth time", nil, func(f *fake) { f.w.counts.looks = 3 }, checking, ""},
	{queued, "nobody calls for the fourth time, and the holder will call", nil, func(f *fake) { f.w.counts.looks, f.w.counts.same = 3, 1 }, seeking, ""},
	{queued, "nobody calls for the eighth time, and the holder will call", nil, func(f *fake) { f.w.counts.looks, f.w.counts.same = 7, 1 }, checking, ""},
	{queued, "the pilot is lost in a long pause", nil, func(f *fake) { f.w.counts.same = 4; f.connected = false }, seeking, ""},
	{checking, "a quorum has what the pilot has", nil, func(f *fake) { f.one().turn.Held, f.stillHeld = heldBy("it"), true }, seeking, "check p:a it"},
	{checking, "no quorum says so", nil, func(f *fake) { f.one().turn.Held = heldBy("it") }, rechecking, "check p:a it"},
	{checking, "the pilot has no lock", nil, nil, rechecking, ""},
	{checking, "the pilot has readers", &readWanted, func(f *fake) { f.w.queue.(*reader).turn.Held = &quorum.Held{Type: "zset"} }, rechecking, ""},
	{checking, "the context ends", nil, func(f *fake) { f.one().turn.Held, f.checkErr = heldBy("it"), context.Canceled }, ended, "check p:a it"},
	{queued, "nobody calls for the fourth time, and others are before one who is fair", &fairWanted, func(f *fake) { f.w.counts.looks = 3 }, seeking, ""},
	{queued, "a lock is given back in this process", nil, func(f *fake) { f.w.ticket.wake() }, myTurn, ""},
	{queued, "the pilot calls", nil, (*fake).call, signaled, ""},
	{queued, "the pilot calls after a collision", nil, func(f *fake) { f.w.counts.collisions = 1; f.call() }, myTurn, ""},
	{queued, "the pilot calls a set", &setWanted, (*fake).call, signaled, ""},
	{queued, "the pilot calls a set after a collision", &setWanted, func(f *fake) { f.w.counts.collisions = 1; f.call() }, signaled, ""},
	{queued, "a pilot from before calls", nil, func(f *fake) { f.w.room.called(WakeUp{Master: 1 - f.pilot(), Key: f.w.key}) }, seeking, "leave former"},
	{queued, "a pilot calls for the key before", nil, func(f *fake) { f.w.ticket.calls <- WakeUp{Master: f.pilot(), Key: "p:before"} }, seeking, "leave p:before"},
	{queued, "the context ends", nil, func(f *fake) { f.cancel() }, ended, ""},

	{signaled, "all grant", nil, func(f *fake) { f.together.Answered, f.together.Granted = true, true }, acquired, "together p:a"},
	{signaled, "the pilot grants, the others do not", nil, func(f *fake) { f.together.Answered, f.together.Granted, f.all = true, true, taken() }, seeking, "together p:a"},
	{signaled, "the pilot refuses", nil, func(f *fake) { f.together.Answered, f.together.Turn, f.all = true, f.turn, taken() }, placed, "together p:a"},
	{signaled, "it fails without the pilot's answer", nil, func(f *fake) { f.all = taken() }, seeking, "together p:a"},

	{signaled, "a set, all grant", &setWanted, nil, acquired, "all"},
	{signaled, "a set, and another key is in the way", &setWanted, func(f *fake) { f.all = takenBy(0, "b") }, inLocalQueue, "all; leave p:a"},

	{myTurn, "all grant", nil, func(f *fake) { f.granted = true }, acquired, "pilot p:a; all"},
	{myTurn, "the pilot grants, the others do not", nil, func(f *fake) { f.granted, f.all = true, taken() }, seeking, "pilot p:a; all"},
	{myTurn, "the pilot refuses", nil, nil, placed, "pilot p:a"},
	{myTurn, "the pilot is silent", nil, func(f *fake) { f.err = pipeline.ErrTimeout }, seeking, "pilot p:a"},
	{myTurn, "one who is fair", &fairWanted, nil, placed, "pilot p:a if first"},
	{myTurn, "a set, and another key is in the way", &setWanted, func(f *fake) {
		f.one().queued = 1 << f.pilot()
		f.turn.Held = &quorum.Held{Type: "string", Key: "b"}
	}, inLocalQueue, "pilot p:a; leave p:a"},
	{polling, "a set, and another key is in the way", &setWanted, func(f *fake) { f.all = takenBy(0, "b") }, inLocalQueue, "all"},
	{unsubscribed, "a set whose calls are not heard in time, and another key is in the way", &setWanted, func(f *fake) { f.deafen(); f.w.queue.seek(); f.all = takenBy(0, "b") }, inLocalQueue, "all"},
	{rechecking, "a set, and another key is in the way", &setWanted, func(f *fake) { f.all = takenBy(0, "b") }, inLocalQueue, "all"},
	{rechecking, "a set, and the same key is in the way", &setWanted, func(f *fake) { f.all = takenBy(0, "a") }, seeking, "all"},

	{backoff, "after the pause", nil, nil, myTurn, ""},
	{backoff, "the context ends", nil, func(f *fake) { f.cancel() }, ended, ""},

	{inLocalQueue, "a reader, and the first of the local queue has found that readers get in", &readWanted, (*fake).behindOne, following, ""},
	{following, "a reader gets in", &readWanted, (*fake).behindOne, acquired, "called"},
	{following, "a reader does not get in", &readWanted, func(f *fake) { f.behindOne(); f.all = taken() }, inLocalQueue, "called"},
	{inLocalQueue, "a reader, whatever was contended", &readWanted, func(f *fake) { f.w.again = true }, seeking, ""},
	{asking, "a reader, and it is the readers' turn", &readWanted, func(f *fake) { f.turn.Ours = true }, signaled, "wait to read p:a"},
	{asking, "a reader, and a writer has the lock", &readWanted, nil, queued, "wait to read p:a"},
	{queued, "the pilot calls the readers", &readWanted, (*fake).callReaders, signaled, ""},
	{queued, "the pilot calls a writer, and a reader waits", &readWanted, (*fake).call, seeking, "leave p:a"},
	{queued, "the pilot calls the readers after a collision", &readWanted, func(f *fake) { f.w.counts.collisions = 1; f.callReaders() }, myTurn, ""},
	{queued, "a pilot from before calls the readers", &readWanted, func(f *fake) { f.w.room.called(WakeUp{Master: 1 - f.pilot(), Key: ReadersPrefix + f.w.key}) }, signaled, ""},
	{signaled, "a reader gets in", &readWanted, nil, acquired, "called"},
	{signaled, "a reader does not get in", &readWanted, func(f *fake) { f.all = taken() }, seeking, "called"},
	{myTurn, "a reader gets in", &readWanted, nil, acquired, "called"},
	{myTurn, "a reader does not get in", &readWanted, func(f *fake) { f.all = taken() }, seeking, "called"},
	{rechecking, "a reader asks as one whom nobody has called", &readWanted, func(f *fake) { f.all = taken() }, seeking, "all"},

	{queued, "one of several keys, and it has not stayed for long enough", &anyWanted, func(f *fake) { f.w.stay = time.Now().Add(time.Second) }, seeking, ""},
	{queued, "one of several keys, and it has stayed for long enough", &anyWanted, (*fake).hasStayed, elsewhere, ""},
	{queued, "one of several keys, it has stayed for long enough, and the pilot calls", &anyWanted, func(f *fake) { f.hasStayed(); f.call() }, signaled, ""},
	{polling, "one of several keys, and it has stayed for long enough", &anyWanted, (*fake).hasStayed, elsewhere, ""},
	{unsubscribed, "one of several keys, and it has stayed for long enough", &anyWanted, (*fake).hasStayed, elsewhere, ""},
	{elsewhere, "others are taken", &anyWanted, func(f *fake) { f.one().queued = 1 << f.pilot(); f.look.Held = heldBy("another") }, inLocalQueue, "leave p:a; look p:c; at p:b"},
	{elsewhere, "another is free", &anyWanted, func(f *fake) { f.look = freeTurn() }, acquired, "look p:c; at p:c; all"},
	{elsewhere, "others are free, and kept for those who wait there", &anyWanted, func(f *fake) { f.look = wire.Turn{Held: &quorum.Held{Type: "none"}} }, inLocalQueue, "look p:c; at p:b"},
	{elsewhere, "others are free, and an attempt fails", &anyWanted, func(f *fake) { f.look, f.all = freeTurn(), taken() }, inLocalQueue, "look p:c; at p:c; all; at p:b"},
	{elsewhere, "calls of this client wait for the others", &anyWanted, func(f *fake) { f.w.room.localQueues.join("p:b"); f.w.room.localQueues.join("p:c") }, inLocalQueue, "at p:b"},
	{elsewhere, "there is no quorum for too long", &anyWanted, func(f *fake) { f.connected = false; f.all = &quorum.Failure{Total: 2, Need: 1, Elapsed: time.Hour} }, ended, "at p:c; all"},
	{elsewhere, "the context ends", &anyWanted, func(f *fake) { f.lookErr = context.Canceled }, ended, "look p:c"},

	{rechecking, "the lock is taken", nil, func(f *fake) { f.all = taken() }, seeking, "all"},
	{rechecking, "the lock is free", nil, nil, acquired, "all"},
}

// takenBy returns the failure of an attempt that some masters granted, and for which a key was
// held by another client.
func takenBy(agreed quorum.MasterSet, key string) *quorum.Failure {
	f := taken()
	f.Agreed, f.Parts = agreed, []quorum.Part{{Held: &quorum.Held{Type: "string", Key: key}}}
	return f
}

func heldBy(token string) *quorum.Held { return &quorum.Held{Token: token, Type: "string"} }

// A pilot that could not be reached is asked again as soon as it is connected. A pilot that
// refuses its queue is passed over for a second.
func TestOnlyAPilotThatRefusesItsQueueIsPassedOver(t *testing.T) {
	for _, test := range []struct {
		err    error
		passed bool
	}{
		{pipeline.ErrTimeout, false},
		{pipeline.ErrConnectionLost, false},
		{pipeline.ErrDown, false},
		{pipeline.ErrStalled, false},
		{errors.New("WRONGTYPE"), true},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := begun(t, oneWanted)
			defer f.cancel()
			f.err = test.err
			master := f.pilot()
			for _, f.w.state = range []state{asking, myTurn} {
				if to := f.w.state.after(f.w.act(f.ctx)); to != seeking {
					t.Errorf("%v while %v: goes to %v, want %v", test.err, f.w.state, to, seeking)
				}
			}
			pilots := f.w.room.cfg.Pilots
			if passed := f.w.refusals.Masters(pilots).Has(master); passed != test.passed {
				t.Errorf("%v: passed over: %v, want %v", test.err, passed, test.passed)
			}
			time.Sleep(time.Second)
			if f.w.refusals.Masters(pilots) != 0 {
				t.Errorf("%v: passed over for more than a second", test.err)
			}
		})
	}
}

// If a pilot refuses and names the holder that has released, the waiter asks all masters. If it
// names another holder, the waiter does not.
func TestPilotThatNamesAFormerHolderIsRechecked(t *testing.T) {
	for token, want := range map[string]state{"before": rechecking, "another": queued, "": queued} {
		synctest.Test(t, func(t *testing.T) {
			f := begun(t, oneWanted)
			defer f.cancel()
			f.one().turn.Held, f.turn.Held = heldBy("before"), heldBy(token)
			f.w.state = myTurn
			for range 2 {
				f.w.state = f.w.state.after(f.w.act(f.ctx))
			}
			if f.w.state != want {
				t.Errorf("refused for %q: goes to %v, want %v", token, f.w.state, want)
			}
		})
	}
}

func TestEachStateActsAndMovesAsTheTableSays(t *testing.T) {
	gone := make(map[state]map[event]bool)
	for _, step := range steps {
		t.Run(fmt.Sprintf("%v, %s", step.from, step.situation), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := &oneWanted
				if step.want != nil {
					want = step.want
				}
				f := begun(t, *want)
				defer f.cancel()
				if step.given != nil {
					step.given(f)
				}
				pilot := f.pilot()
				f.w.state = step.from
				e := f.w.act(f.ctx)
				if to := step.from.after(e); to != step.to {
					t.Errorf("goes to %v, want %v", to, step.to)
				}
				did := strings.Join(f.did, "; ")
				did = strings.ReplaceAll(did, fmt.Sprintf("leave %d", pilot), "leave")
				did = strings.ReplaceAll(did, fmt.Sprintf("leave %d p:a", 1-pilot), "leave former")
				if f.w.key == "p:c" { // it was drawn instead of p:b
					did = strings.NewReplacer("p:b", "p:c", "p:c", "p:b").Replace(did)
				}
				if did != step.did {
					t.Errorf("it did %q, want %q", did, step.did)
				}
				if step.to == ended && f.w.last == nil {
					t.Error("no failure says why it has ended")
				}
				if gone[step.from] == nil {
					gone[step.from] = make(map[event]bool)
				}
				gone[step.from][e] = true
			})
		})
	}
	for from, ways := range ways {
		for e, to := range ways {
			if !gone[state(from)][e] {
				t.Errorf("no step goes from %v to %v by event %d", state(from), to, e)
			}
		}
		for e := range gone[state(from)] {
			if _, ok := ways[e]; !ok && !slices.Contains([]event{won, interrupted, inVain}, e) {
				t.Errorf("the table does not say where event %d leads from %v", e, state(from))
			}
		}
	}
}

// A set that was called and lost votes to other calls pauses before its next turn. A set that
// met a key that was taken does not.
func TestASetWhoseVotesWereSplitPausesBeforeItsNextTurn(t *testing.T) {
	for agreed, want := range map[quorum.MasterSet]state{0: myTurn, 1: backoff} {
		synctest.Test(t, func(t *testing.T) {
			f := begun(t, setWanted)
			defer f.cancel()
			f.all, f.turn.Ours = takenBy(agreed<<f.pilot(), "a"), true
			for range 2 {
				f.w.state = signaled
				if to := f.w.state.after(f.w.act(f.ctx)); to != seeking {
					t.Fatalf("goes to %v, want %v", to, seeking)
				}
			}
			f.w.state = asking
			if to := f.w.state.after(f.w.act(f.ctx)); to != want {
				t.Errorf("its turn when the pilot had granted (%d): goes to %v, want %v", agreed, to, want)
			}
		})
	}
}
