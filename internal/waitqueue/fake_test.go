package waitqueue

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/wire"
)

// A fake replaces the masters, the queues and the Attempter of one waiter. With it each state
// is tested alone.
type fake struct {
	connected, hears bool
	all              *quorum.Failure // the answer of all masters, or of those beside a pilot that has granted
	granted          bool            // the pilot grants the lock
	turn             wire.Turn       // the pilot's answer if it does not
	err              error           // instead of turn
	look             wire.Turn       // a pilot's answer about another key
	lookErr          error           // instead of look
	stillHeld        bool            // a quorum still has the key of the holder that the pilot names
	checkErr         error           // ends that question
	together         wire.PilotAnswer
	wants            quorum.Failure // which keys the call wants
	did              []string
	onLeave          func() // called by LeaveQueue, if it is not nil

	w      *waiter
	ctx    context.Context
	cancel context.CancelFunc
}

// fakeMaster is number 0 or 1 of two masters.
type fakeMaster struct {
	*fake
	number int
}

func (m fakeMaster) Name() string          { return fmt.Sprint("master", m.number) }
func (m fakeMaster) Connected() bool       { return m.connected }
func (m fakeMaster) Stats() pipeline.Stats { return pipeline.Stats{Epoch: 1} }
func (m fakeMaster) Subscribe(_ string, l pipeline.Listener) *pipeline.Subscription {
	if m.hears {
		go l.Subscribed()
	}
	return nil
}

func (f *fake) do(what ...any) {
	f.did = append(f.did, strings.TrimSpace(strings.Join(strings.Fields(fmt.Sprintln(what...)), " ")))
}

func (f *fake) All(context.Context, bool) *quorum.Failure { f.do("all"); return f.all }

func (f *fake) At(key string) { f.do("at", key) }

func (f *fake) Pilot(_ context.Context, _ int, at wire.Place) (bool, wire.Turn, error) {
	key := f.w.key
	if at.OnlyFirst {
		key += " if first"
	}
	f.do("pilot", key)
	return f.granted, f.turn, f.err
}

func (f *fake) Together(context.Context, int, wire.Place) (wire.PilotAnswer, *quorum.Failure) {
	f.do("together", f.w.key)
	return f.together, f.all
}

func (f *fake) Called(context.Context) *quorum.Failure { f.do("called"); return f.all }

func (f *fake) Taken(master int, held *quorum.Held) *quorum.Failure {
	t := &quorum.Failure{Kind: quorum.Taken, Need: 1, Total: 2, Key: f.wants.Key, Others: f.wants.Others}
	if held != nil {
		t.Parts = []quorum.Part{{Master: master, Held: held}}
	}
	return t
}

func (f *fake) Attempted(int, *quorum.Failure)              {}
func (f *fake) Pausing(int, time.Duration, *quorum.Failure) {}

func (f *fake) WaitAt(_ context.Context, _ int, key string, _ any, _ time.Duration) (wire.Turn, error) {
	f.do("wait", key)
	return f.turn, f.err
}

func (f *fake) LookAt(_ int, key string) wire.Look {
	f.do("look", key)
	return func(context.Context, time.Duration) (wire.Turn, error) { return f.look, f.lookErr }
}

func (f *fake) StillHeld(_ context.Context, key, token string, _ time.Duration) (bool, error) {
	f.do("check", key, token)
	return f.stillHeld, f.checkErr
}

func (f *fake) LeaveQueue(pilot int, key string) {
	if f.do("leave", pilot, key); f.onLeave != nil {
		f.onLeave()
	}
}

func (f *fake) WaitToRead(_ context.Context, _ int, key string, _ any, _ time.Duration) (wire.Turn, error) {
	f.do("wait to read", key)
	return f.turn, f.err
}

func (f *fake) LeaveReaders(pilot int, key string) { f.do("leave readers", pilot, key) }

func (f *fake) Patience(int, time.Duration) time.Duration { return time.Millisecond }

// noVoters never have a quorum.
type noVoters struct{}

func (noVoters) Begins(time.Time) <-chan struct{} { return nil }
func (noVoters) AddWaiting(int)                   {}

func newRoom(cfg Config) *Room {
	if cfg.Voters == nil {
		cfg.Voters = noVoters{}
	}
	r := &Room{}
	r.Init(cfg)
	return r
}

// begun returns a fake whose waiter is first in its local queue and has found its pilot.
func begun(t *testing.T, want Options) *fake {
	f := &fake{connected: true, hears: true, turn: wire.Turn{Held: &quorum.Held{Type: "none"}}}
	f.ctx, f.cancel = context.WithCancel(t.Context())
	masters := []fakeMaster{{f, 0}, {f, 1}}
	r := newRoom(Config{
		Queues: f, Masters: Masters(masters), Need: 1, Closing: context.Background(), OutageWait: time.Minute, Prefix: "p:",
		Pilots: quorum.NewChooser(masters, func(int) bool { return true }),
	})
	f.w = newWaiter(r, want, f, want.key(), false)
	f.w.ticket = r.localQueues.join(f.w.queue.localQueue())
	f.did = nil
	f.w.begin()
	f.subscribe()
	f.w.queue.seek()
	return f
}

func (f *fake) pilot() int { return f.w.room.cfg.Pilots.Of(f.w.key, 0) }

// subscribe subscribes to the pilot's calls, if hears allows it.
func (f *fake) subscribe() {
	if f.hears {
		<-f.w.listener.Subscribe(f.pilot())
	}
}

// deafen ends all subscriptions and lets no new one become ready.
func (f *fake) deafen() {
	f.hears = false
	f.w.room.hub = NewHub([]Master{fakeMaster{f, 0}, fakeMaster{f, 1}}, "", f.w.room.called)
	f.w.listener = f.w.room.hub.Wait()
}

func (f *fake) one() *oneKey { return f.w.queue.(*oneKey) }

// call makes the pilot call the client.
func (f *fake) call() { f.w.room.called(WakeUp{Master: f.pilot(), Key: f.w.key}) }

// callReaders makes the pilot call the client's readers.
func (f *fake) callReaders() {
	f.w.room.called(WakeUp{Master: f.pilot(), Key: ReadersPrefix + f.w.key})
}

var (
	readWanted = Options{Keys: []string{"p:a"}, Kind: wire.Reader}
	oneWanted  = Options{Keys: []string{"p:a"}, Kind: wire.Plain}
	fairWanted = Options{Keys: []string{"p:a"}, Kind: wire.Plain, Fair: true}
	setWanted  = Options{Keys: []string{"p:a", "p:b"}, Kind: wire.Set}
	anyWanted  = Options{Keys: []string{"p:a", "p:b", "p:c"}, Kind: wire.Plain}
)

// hasStayed ends the time for which the waiter stays with its key, one of several.
func (f *fake) hasStayed() { f.w.stay = time.Now() }

// freeTurn returns a pilot's answer about a free key for which nobody waits.
func freeTurn() wire.Turn { return wire.Turn{First: true, Held: &quorum.Held{Type: "none"}} }
