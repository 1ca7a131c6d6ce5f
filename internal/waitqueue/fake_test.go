package waitqueue

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pilot"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/wakeup"
	"github.com/redquorum/redquorum/internal/wire"
)

// A fake is the masters, the queues and the caller of one waiter, on which its states are
// tried one by one.
type fake struct {
	connected, hears bool
	all, others      *outcome.Failure // what all masters say, and those beside the pilot
	granted          bool             // by the pilot
	turn             wire.Turn        // if it is not
	err              error            // instead of the pilot's answer
	together         wire.PilotAnswer
	wants            outcome.Failure // which keys the call wants
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

func (f *fake) All(context.Context, bool) *outcome.Failure { f.do("all"); return f.all }

func (f *fake) Pilot(_ context.Context, _ int, key string, at wire.Place) (bool, wire.Turn, error) {
	if at.OnlyFirst {
		key += " if first"
	}
	f.do("pilot", key)
	return f.granted, f.turn, f.err
}

func (f *fake) Others(context.Context, bool) *outcome.Failure { f.do("others"); return f.others }

func (f *fake) Together(_ context.Context, _ int, key string, _ wire.Place) (wire.PilotAnswer, *outcome.Failure) {
	f.do("together", key)
	return f.together, f.all
}

func (f *fake) Called(context.Context) *outcome.Failure { f.do("called"); return f.all }

func (f *fake) Taken(master int, held *outcome.Held) *outcome.Failure {
	t := &outcome.Failure{Kind: outcome.Taken, Need: 1, Total: 2, Key: f.wants.Key, Others: f.wants.Others}
	if held != nil {
		t.Parts = []outcome.Part{{Master: master, Held: held}}
	}
	return t
}

func (f *fake) Attempted(int, *outcome.Failure)              {}
func (f *fake) Pausing(int, time.Duration, *outcome.Failure) {}

func (f *fake) WaitAt(_ context.Context, _ int, key string, _ any, _ time.Duration) (wire.Turn, error) {
	f.do("wait", key)
	return f.turn, f.err
}

func (f *fake) WaitAtEach(int, []string, any) wire.KeysQuery { panic("not asked for") }
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

func (f *fake) LeaveEach(_ int, keys []string)            { f.do("leave each", strings.Join(keys, " ")) }
func (f *fake) Patience(int, time.Duration) time.Duration { return time.Millisecond }

func newRoom(cfg Config) *Room {
	r := &Room{}
	r.Init(cfg)
	return r
}

// begun is a fake whose waiter has come first and has found its pilot.
func begun(t *testing.T, want Want) *fake {
	f := &fake{connected: true, hears: true, turn: wire.Turn{Held: &outcome.Held{Type: "none"}}}
	f.ctx, f.cancel = context.WithCancel(t.Context())
	masters := []fakeMaster{{f, 0}, {f, 1}}
	r := newRoom(Config{
		Queues: f, Masters: Masters(masters), Need: 1, Life: context.Background(), OutageWait: time.Minute, Prefix: "p:",
		Pilots: pilot.New(masters, func(int) bool { return true }),
	})
	f.w = newWaiter(r, want, f, want.key(), false)
	f.w.place = r.lines.join(f.w.queue.keys()...)
	f.w.begin()
	f.subscribe()
	switch q := f.w.queue.(type) {
	case *oneKey:
		q.pilot = f.pilot()
	case *reader:
		q.pilot = f.pilot()
	}
	return f
}

func (f *fake) pilot() int { return f.w.room.cfg.Pilots.Of(f.w.key, 0) }

// subscribe has the pilot's calls heard, where they can be.
func (f *fake) subscribe() {
	if f.hears {
		<-f.w.listener.Subscribe(f.pilot())
	}
}

// deafen has no pilot's calls heard.
func (f *fake) deafen() {
	f.hears = false
	f.w.room.hub = wakeup.New([]wakeup.Master{fakeMaster{f, 0}, fakeMaster{f, 1}}, "", f.w.room.called)
	f.w.listener = f.w.room.hub.Wait()
}

func (f *fake) one() *oneKey { return f.w.queue.(*oneKey) }

// call is one of the pilot's.
func (f *fake) call() { f.w.room.called(wakeup.Call{Master: f.pilot(), Key: f.w.key}) }

// callReaders is one of the pilot's, for readers.
func (f *fake) callReaders() {
	f.w.room.called(wakeup.Call{Master: f.pilot(), Key: wakeup.Readers + f.w.key})
}

var (
	readWanted = Want{Keys: []string{"p:a"}, Kind: wire.Reader}
	oneWanted  = Want{Keys: []string{"p:a"}, Kind: wire.Plain}
	fairWanted = Want{Keys: []string{"p:a"}, Kind: wire.Plain, Fair: true}
	setWanted  = Want{Keys: []string{"p:a", "p:b"}, Kind: wire.Set}
	anyWanted  = Want{Keys: []string{"p:a", "p:b"}, Kind: wire.AnyOf}
)

// called has one who wants one of several keys be called for one, and stand in the queue
// of the other.
func (f *fake) called() {
	f.w.queue.hear(wakeup.Call{Master: f.pilot(), Key: f.w.key})
	f.w.queue.(*anyOf).queued[wakeup.Call{Master: f.pilot(), Key: "p:b"}] = true
}
