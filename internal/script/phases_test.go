package script

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

const readersOf = queueOf + ":readers"

// A phased is a master at which readers and writers wait, each a second after the one before.
type phased struct {
	*clockMaster
	heard map[string]chan string // the messages of each client
}

func newPhased(t *testing.T, clients ...string) *phased {
	t.Helper()
	m := &phased{newClockMaster(t), make(map[string]chan string)}
	for _, client := range clients {
		s, heard := m.hears(client), make(chan string, 100)
		m.heard[client] = heard
		go func() { // it ends with the subscriber
			for message := range s.Messages() {
				heard <- message.Message
			}
		}()
	}
	return m
}

// hearsBy runs f, and returns the message that the client gets by it.
func (m *phased) hearsBy(client string, f func()) string {
	m.t.Helper()
	f()
	select {
	case message := <-m.heard[client]:
		return message
	case <-time.After(10 * time.Second):
		return "nothing"
	}
}

// readers runs the script for readers that wait.
func (m *phased) readers(args ...any) any {
	m.t.Helper()
	return m.eval(ReadersQueue, []string{key, queueOf, writers}, args...)
}

// reads has clients wait as readers.
func (m *phased) reads(clients ...string) {
	m.t.Helper()
	for _, client := range clients {
		if got := m.state(m.readers("wait", client, "")); got.ours != 0 {
			m.t.Errorf("%s may enter: %+v", client, got)
		}
		m.advance(time.Second)
	}
}

// writes has clients wait as writers.
func (m *phased) writes(clients ...string) {
	m.t.Helper()
	for _, client := range clients {
		if got := m.state(m.queue("wait", client, "")); got.ours != 0 {
			m.t.Errorf("%s may lock: %+v", client, got)
		}
		m.advance(time.Second)
	}
}

// leave is a reader's release by the script that hands over.
func (m *phased) leave(token string) any {
	m.t.Helper()
	return m.eval(ReaderHandOver, []string{key}, token, longest, "me")
}

// called returns the readers and the writers whose mark counts.
func (m *phased) called() (readers, writers []string) {
	m.t.Helper()
	grace := float64(250 * time.Millisecond / time.Microsecond)
	for _, set := range []string{readersOf, queueOf} {
		all, _ := m.ZMembers(set)
		for _, client := range all {
			score, err := m.ZScore(set, client)
			if err != nil {
				m.t.Fatal(err)
			}
			now := float64(m.now.UnixMicro())
			switch {
			case -score <= now || -score > now+grace:
			case set == readersOf:
				readers = append(readers, client)
			default:
				writers = append(writers, client)
			}
		}
	}
	return readers, writers
}

func (m *phased) wantCalled(when string, readers, writers []string) {
	m.t.Helper()
	r, w := m.called()
	if !reflect.DeepEqual(r, readers) || !reflect.DeepEqual(w, writers) {
		m.t.Errorf("%s the readers %q and the writers %q are called, want %q and %q", when, r, w, readers, writers)
	}
}

func TestAWritersReleaseCallsAllReadersAndNoWriter(t *testing.T) {
	m := newPhased(t, "w1", "w2", "r1", "r2")
	m.set(ours, time.Minute)
	m.writes("w1")
	m.reads("r1", "dead", "r2")
	m.writes("w2")
	var reply any
	got := m.hearsBy("r2", func() { reply = m.queue("release", "me", ours) })
	if got != "redquorum:r:"+key || reply != int64(11) {
		t.Errorf("the message %q, the reply %v", got, reply)
	}
	m.wantCalled("after the release", []string{"r1", "r2"}, nil)
	if all, _ := m.ZMembers(readersOf); len(all) != 2 {
		t.Errorf("%q wait to read: want those that heard", all)
	}
	// Until they have come, or have had the time to come, no writer gets it.
	if got := m.state(m.queue("wait", "w1", "")); got.ours != 0 {
		t.Errorf("a writer goes before the readers: %+v", got)
	}
	if got := m.queue("take", "w1", "", "token", 1000, "1"); m.state(got).kind != "called" {
		t.Errorf("a writer takes the lock before the readers: %v", got)
	}
	if got := m.queue("take", "new", "-", "token", 1000, "1"); m.state(got).kind != "called" {
		t.Errorf("a newcomer takes the lock before the readers: %v", got)
	}
	for _, reader := range []string{"r1", "r2"} {
		if got := m.state(m.readers("wait", reader, "")); got.ours != 1 {
			t.Errorf("%s was called: %+v", reader, got)
		}
	}
	m.advance(251 * time.Millisecond)
	if got := m.state(m.queue("wait", "w1", "")); got.ours != 1 {
		t.Errorf("no reader came in time: %+v", got)
	}
}

func TestTheLastReaderAtTheMasterCallsTheFirstWriter(t *testing.T) {
	m := newPhased(t, "w1", "w2", "r1")
	m.enter("a", time.Minute)
	m.enter("b", time.Minute)
	m.writes("w1", "w2")
	m.eval(WriterIntent, []string{writers}, "w1", 2000)
	if got := m.state(m.readers("wait", "r1", "")); got.ours != 0 || got.kind != "intent" {
		t.Errorf("a reader that comes behind a writer: %+v", got)
	}
	if got := m.leave("a"); got != int64(1) {
		t.Errorf("%v", got)
	}
	m.wantCalled("before the last reader has left", nil, nil)
	var reply any
	if got := m.hearsBy("w1", func() { reply = m.leave("b") }); got != key || fmt.Sprint(reply) != "[1 1 1]" {
		t.Errorf("the message %q, the reply %v", got, reply)
	}
	m.wantCalled("after it", nil, []string{"w1"})
	if got := m.state(m.readers("wait", "r1", "")); got.ours != 0 {
		t.Errorf("a reader goes before the writer that was called: %+v", got)
	}
	if got := m.queue("take", "w1", "", "token", 1000, "1"); got != "OK" {
		t.Errorf("%v", got)
	}
}

// If a lock has expired, nobody knows who had it last. Then the client that has waited longest
// comes first.
func TestLongestWaiterComesFirstAfterTheLockExpired(t *testing.T) {
	for name, test := range map[string]struct {
		readerFirst, intent bool
		readers, writers    []string
	}{
		"a reader": {true, false, []string{"r"}, nil},
		"a writer": {false, false, nil, []string{"w"}},
		"a reader, whom a writer that is noted keeps out": {true, true, nil, []string{"w"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newPhased(t, "r", "w")
			m.set(other, time.Minute)
			if test.readerFirst {
				m.reads("r")
			}
			m.writes("w")
			if !test.readerFirst {
				m.reads("r")
			}
			m.do("DEL", key)
			if test.intent {
				m.eval(WriterIntent, []string{writers}, "w", 2000)
			}
			m.readers("leave", "somebody")
			m.wantCalled("after a look", test.readers, test.writers)
		})
	}
}

// A writer that polls is in no queue; its intent alone keeps its turn.
func TestReadersDoNotFollowReadersWhileAWriterIsNoted(t *testing.T) {
	m := newPhased(t, "r")
	m.enter("a", time.Minute)
	m.eval(WriterIntent, []string{writers}, "polls", 2000)
	if got := m.state(m.readers("wait", "r", "")); got.ours != 0 {
		t.Errorf("%+v", got)
	}
	if got := m.leave("a"); fmt.Sprint(got) != "[1 1 0]" {
		t.Errorf("%v", got)
	}
	m.wantCalled("after the last reader", nil, nil)
	if got := m.state(m.readers("wait", "r", "")); got.ours != 0 || got.kind != "intent" {
		t.Errorf("%+v", got)
	}
	// It gives up: the readers are called.
	m.do("ZREM", writers, "polls")
	m.readers("admit", "me")
	m.wantCalled("when the writer has given up", []string{"r"}, nil)
}

func TestReadersAreAdmittedWhereReadersHaveTheLock(t *testing.T) {
	for name, test := range map[string]struct {
		lock, intent bool // a writer has the lock, or is noted
		want         []string
	}{
		"no writer waits":       {want: []string{"r"}},
		"one does":              {intent: true},
		"a writer has the lock": {lock: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newPhased(t, "r")
			m.set(other, time.Minute)
			m.reads("r")
			if !test.lock {
				m.do("DEL", key)
				m.enter("a", time.Minute)
			}
			if test.intent {
				m.eval(WriterIntent, []string{writers}, "w", 2000)
			}
			m.readers("admit", "me")
			m.wantCalled("then", test.want, nil)
		})
	}
}

// A reader that was called enters although a writer waits. No reader enters while a writer has the
// lock.
func TestAReaderThatWasCalledPassesWritersThatWaitAndNoOthers(t *testing.T) {
	m := newPhased(t)
	m.eval(WriterIntent, []string{writers}, "w", 2000)
	enter := func(called ...any) any {
		return m.eval(ReaderAcquire, []string{key, writers}, append([]any{ours, 60_000, longest}, called...)...)
	}
	m.want("a newcomer", enter(), 4)
	m.want("a newcomer", enter("0"), 4)
	m.want("one that was called", enter("1"), 1)
	m.do("DEL", key)
	m.set(other, time.Minute)
	m.want("one that was called, where a writer has the lock", enter("1"), 0)
}

// A client that has come, or given up, has no mark any more, so nobody waits for it.
func TestAReaderThatHasComeTakesItsMarkWithIt(t *testing.T) {
	m := newPhased(t, "r", "w")
	m.set(ours, time.Minute)
	m.reads("r")
	m.writes("w")
	m.queue("release", "me", ours)
	m.enter("a", time.Minute)
	m.readers("leave", "r")
	if m.Exists(readersOf) {
		t.Error("an entry is left")
	}
	m.leave("a")
	m.wantCalled("when it is out", nil, []string{"w"})
}

// That is also so while others have been called and the lock is free: a client that leaves is not
// called with them.
func TestAReaderThatLeavesWhileOthersAreCalledLeavesNoEntry(t *testing.T) {
	m := newPhased(t, "r", "gone")
	m.set(ours, time.Minute)
	m.reads("r", "gone")
	m.queue("release", "me", ours)
	m.readers("leave", "gone")
	if all, _ := m.ZMembers(readersOf); !reflect.DeepEqual(all, []string{"r"}) {
		t.Errorf("%q wait to read", all)
	}
}

// Marks from before the clock was set back keep nobody out, and no client is lost by them.
func TestAReadersMarkFurtherAheadThanItsGraceDoesNotCount(t *testing.T) {
	m := newPhased(t, "r", "w")
	m.set(other, time.Minute)
	m.writes("w")
	m.do("ZADD", readersOf, -m.now.Add(time.Hour).UnixMicro(), "dead")
	m.do("ZADD", readersOf, m.now.Add(time.Hour).UnixMicro(), "r")
	m.do("DEL", key)
	if got := m.state(m.queue("wait", "w", "")); got.ours != 1 {
		t.Errorf("a dead reader holds a writer off: %+v", got)
	}
	m.do("DEL", queueOf)
	m.set(ours, time.Minute)
	m.queue("release", "me", ours)
	m.wantCalled("by a writer's release", []string{"r"}, nil)
}

// Another key at the readers' name does not stop writers.
func TestAStrangeQueueOfReadersHoldsNoWriterUp(t *testing.T) {
	m := newPhased(t, "w")
	m.set(ours, time.Minute)
	m.HSet(readersOf, "field", "value")
	m.writes("w")
	if got := m.queue("release", "me", ours); got != int64(11) {
		t.Errorf("%v", got)
	}
	if got := m.queue("take", "w", "", "token", 1000, "1"); got != "OK" {
		t.Errorf("%v", got)
	}
}
