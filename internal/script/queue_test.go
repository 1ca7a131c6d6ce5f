package script

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

const queueOf = "redquorum:q:1:{" + key + "}"

// queue runs the queue's script.
func (m *master) queue(args ...any) any {
	m.t.Helper()
	return m.eval(Queue, []string{key, queueOf}, args...)
}

// A state is the reply of wait, and of a take that did not succeed.
type state struct {
	ours, first int64
	score       string
	kind, value string
}

func (m *master) state(reply any) state {
	m.t.Helper()
	parts, ok := reply.([]any)
	if !ok || len(parts) != 6 {
		m.t.Fatalf("%v", reply)
	}
	return state{parts[0].(int64), parts[2].(int64), string(parts[1].([]byte)), string(parts[3].([]byte)), string(parts[4].([]byte))}
}

// entries are the clients in the queue, in order.
func (m *master) entries() []string {
	all, _ := m.ZMembers(queueOf)
	return all
}

func (m *master) at(micros int64) { m.SetTime(time.UnixMicro(micros)) }

// hears subscribes a client.
func (m *master) hears(client string) *miniredis.Subscriber {
	s := m.NewSubscriber()
	s.Subscribe("redquorum:w:1:" + client)
	m.t.Cleanup(s.Close)
	return s
}

// next is the message that a subscriber gets while f runs; "": none.
func next(s *miniredis.Subscriber, f func()) string {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	message := ""
	for {
		select {
		case m := <-s.Messages():
			message = m.Message
		case <-done:
			return message
		}
	}
}

func TestWaitersQueueInOrderOfArrival(t *testing.T) {
	m := newMaster(t)
	m.set(other, time.Minute)
	for i, client := range []string{"c", "a", "b"} {
		m.at(int64(17e14) + int64(i))
		got := m.state(m.queue("wait", client, ""))
		want := state{0, 0, fmt.Sprint(int64(17e14) + int64(i)), "string", other}
		if i == 0 {
			want.first = 1
		}
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	m.at(18e14) // looking again keeps the ticket
	if got := m.state(m.queue("wait", "c", "")); got.score != "1700000000000000" || got.first != 1 {
		t.Errorf("%+v", got)
	}
	if got, want := m.entries(), []string{"c", "a", "b"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	if ttl := m.TTL(queueOf); ttl != 30*time.Second {
		t.Errorf("the queue expires in %v", ttl)
	}
}

func TestReleaseWakesTheFirstListeningWaiter(t *testing.T) {
	m := newMaster(t)
	m.set(ours, time.Minute)
	for _, client := range []string{"dead", "alive", "later"} {
		m.queue("wait", client, "")
		m.at(time.Now().UnixMicro() + 1e6)
	}
	alive := m.hears("alive")
	var reply any
	if got := next(alive, func() { reply = m.queue("release", "me", ours) }); got != key || reply != int64(11) {
		t.Errorf("the message %q, the reply %v", got, reply)
	}
	m.holds("", 0)
	if got, want := m.entries(), []string{"alive", "later"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// It is woken once, and nobody else is until it has had the time to come.
	if got := next(alive, func() { reply = m.queue("release", "me", "token") }); got != "" || reply != int64(13) {
		t.Errorf("the message %q, the reply %v", got, reply)
	}
	if got := m.state(m.queue("wait", "later", "")); got.ours != 0 {
		t.Errorf("%+v", got)
	}
	if got := m.queue("take", "alive", "", "token", 1000, "1"); got != "OK" {
		t.Errorf("%v", got)
	}
	m.holds("token", time.Second)
	if got, want := m.entries(), []string{"later"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWokenWaiterThatFailsKeepsItsTicket(t *testing.T) {
	m := newMaster(t)
	m.set(ours, time.Minute)
	m.at(17e14)
	m.queue("wait", "first", "")
	m.at(17e14 + 1)
	m.queue("wait", "second", "")
	first := m.hears("first")
	next(first, func() { m.queue("release", "me", ours) })
	m.set(other, time.Minute) // overtaken
	if got := m.state(m.queue("take", "first", "1700000000000000", "token", 1000, "0")); got.score != "1700000000000000" || got.first != 1 || got.value != other {
		t.Errorf("%+v", got)
	}
	if got, want := m.entries(), []string{"first", "second"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLookTakesNoTicketAndReportsTheCalledWaiter(t *testing.T) {
	m := newMaster(t)
	m.at(17e14)
	look := func() state { return m.state(m.queue("look", "me")) }
	if got, want := look(), (state{0, 1, "", "none", ""}); got != want {
		t.Errorf("nobody holds it or waits: %+v, want %+v", got, want)
	}
	m.set(other, time.Minute)
	m.queue("wait", "first", "")
	if got, want := look(), (state{0, 0, "", "string", other}); got != want {
		t.Errorf("another holds it, and one waits: %+v, want %+v", got, want)
	}
	next(m.hears("first"), func() { m.queue("release", "holder", other) })
	m.at(17e14 + 100_000)
	reply := m.queue("look", "me").([]any)
	if got, want := m.state(reply), (state{0, 0, "", "called", ""}); got != want || reply[5] != int64(150) {
		t.Errorf("one was called 100 ms ago: %v", reply)
	}
	if got, want := m.entries(), []string{"first"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestYieldingTakeFailsWhileALivingWaiterIsFirst(t *testing.T) {
	m := newMaster(t)
	if got := m.queue("take", "me", "-", "token", 1000, "1"); got != "OK" {
		t.Errorf("%v of a free lock that nobody waits for", got)
	}
	m.Del(key)
	_, _ = m.ZAdd(queueOf, 1, "dead")
	if got := m.queue("take", "me", "-", "token", 1000, "1"); got != "OK" {
		t.Errorf("%v of a free lock that a dead client waits for", got)
	}
	m.Del(key)
	_, _ = m.ZAdd(queueOf, 1, "first")
	first := m.hears("first")
	var reply any
	if got := next(first, func() { reply = m.queue("take", "me", "-", "token", 1000, "1") }); got != key || m.state(reply).kind != "called" {
		t.Errorf("the message %q, the reply %v", got, reply)
	}
	if got, want := m.entries(), []string{"first"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := m.queue("take", "me", "-", "token", 1000, "0"); got != "OK" {
		t.Errorf("%v to one who does not yield", got)
	}
}

func TestLeavingWaiterWakesTheNext(t *testing.T) {
	m := newMaster(t)
	m.set(ours, time.Minute)
	m.at(17e14)
	m.queue("wait", "first", "")
	m.at(17e14 + 1)
	m.queue("wait", "second", "")
	first, second := m.hears("first"), m.hears("second")
	next(first, func() { m.queue("release", "me", ours) })
	var reply any
	if got := next(second, func() { reply = m.queue("leave", "first") }); got != key || reply != int64(10) {
		t.Errorf("the message %q, the reply %v", got, reply)
	}
	m.set(other, time.Minute)
	if got := m.queue("leave", "second"); got != int64(0) || m.Exists(queueOf) {
		t.Errorf("%v, entries %q", got, m.entries())
	}
}

// A release drops 16 dead clients at the most, however many there are.
func TestReleaseDropsAtMostSixteenDeadWaiters(t *testing.T) {
	m := newMaster(t)
	m.set(ours, time.Minute)
	for i := range 20 {
		_, _ = m.ZAdd(queueOf, float64(i+1), fmt.Sprintf("dead-%02d", i))
	}
	if got := m.queue("release", "me", ours); got != int64(1) || len(m.entries()) != 4 {
		t.Errorf("%v, %d left", got, len(m.entries()))
	}
}

func TestQueueKeyOfAnotherTypeIsLeftAlone(t *testing.T) {
	m := newMaster(t)
	m.HSet(queueOf, "field", "value")
	m.set(other, time.Minute)
	for _, args := range [][]any{{"wait", "me", ""}, {"take", "me", "", "token", 1000, "0"}} {
		if reply, err := m.conn.Do("EVAL", Queue.EvalArgs(Queue.Args(nil, []string{key, queueOf}, args...))...); err == nil {
			t.Errorf("%v: %v", args, reply)
		}
	}
	m.Del(key)
	if got := m.queue("take", "me", "", "token", 1000, "0"); got != "OK" {
		t.Errorf("%v of a free lock", got)
	}
	if got := m.HGet(queueOf, "field"); got != "value" {
		t.Errorf("%q", got)
	}
}
