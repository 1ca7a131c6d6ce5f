package fidelity

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/simmaster"
)

// began is the instant of every sequence's first command.
var began = time.Date(2026, 7, 1, 12, 0, 0, 123_456_000, time.UTC)

// A pair is a real master and a simulated one, which must behave alike.
type pair struct {
	real, simulated *side
	hold            func(at time.Time) error
	now             time.Time
}

// A side is one of them, as a client sees it.
type side struct {
	name     string
	conn     redis.Conn
	listener redis.PubSubConn
}

// startPair starts both, with clients that wait for messages.
func startPair(t *testing.T) *pair {
	t.Helper()
	server := redistest.Start(t, 1, redistest.Config{MovableClock: true}).Masters[0]
	info, err := redis.String(server.Do("INFO"))
	if err != nil {
		t.Fatal(err)
	}
	var clock atomic.Int64
	clock.Store(began.UnixNano())
	sim, err := simmaster.New(simmaster.Options{
		Now: func() time.Time { return time.Unix(0, clock.Load()) }, Rand: identity(t, info),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sim.Close)
	p := &pair{now: began}
	p.hold = func(at time.Time) error {
		clock.Store(at.UnixNano())
		sim.SetClockOffset(0) // expires what is due, as a real master does by itself
		return server.HoldClock(at)
	}
	p.real = newSide(t, "the real master", func() (net.Conn, error) {
		return net.Dial("tcp", server.Addr())
	})
	p.simulated = newSide(t, "the simulated master", func() (net.Conn, error) {
		return sim.Dial(context.Background())
	})
	return p
}

// identity returns the bytes from which a simulated master makes its run_id and master_replid.
// They become those of the real one, because scripts read and write them.
func identity(t *testing.T, info string) io.Reader {
	t.Helper()
	var ids []byte
	for _, name := range []string{"run_id:", "master_replid:"} {
		_, rest, _ := strings.Cut(info, "\r\n"+name)
		text, _, _ := strings.Cut(rest, "\r\n")
		id, err := hex.DecodeString(text)
		if err != nil || len(id) != 20 {
			t.Fatalf("INFO says %s%q", name, text)
		}
		ids = append(ids, id...)
	}
	return bytes.NewReader(ids)
}

// replyBound is how long a reply may take. If it takes longer, the master is stuck.
const replyBound = 10 * time.Second

func newSide(t *testing.T, name string, dial func() (net.Conn, error)) *side {
	t.Helper()
	connect := func() redis.Conn {
		raw, err := dial()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		conn := redis.NewConn(raw, replyBound, replyBound)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	s := &side{name: name, conn: connect(), listener: redis.PubSubConn{Conn: connect()}}
	for _, client := range listening {
		if err := s.listener.Subscribe(wakeUps + client); err != nil {
			t.Fatal(err)
		}
		if _, ok := s.listener.Receive().(redis.Subscription); !ok {
			t.Fatalf("%s: cannot subscribe", name)
		}
	}
	return s
}

// do sends one command. The error is one of the connection; an error of the command is a reply.
func (s *side) do(command ...any) (any, error) {
	reply, err := s.conn.Do(command[0].(string), command[1:]...)
	if refused, ok := err.(redis.Error); ok { //nolint:errorlint // redigo returns it as it is
		return refused, nil
	}
	return reply, err
}

// heard returns the messages to the waiting clients since the last call.
func (s *side) heard() ([]string, error) {
	if err := s.listener.Ping("now"); err != nil {
		return nil, err
	}
	var messages []string
	for {
		switch m := s.listener.ReceiveWithTimeout(replyBound).(type) {
		case redis.Message:
			messages = append(messages, m.Channel+" "+string(m.Data))
		case redis.Pong:
			return messages, nil
		case error:
			return nil, m
		}
	}
}

// stored returns everything that a master stores, as text.
func (s *side) stored() (map[string]string, error) {
	keys, err := redis.Strings(s.conn.Do("KEYS", "*"))
	if err != nil {
		return nil, err
	}
	all := make(map[string]string, len(keys))
	for _, key := range keys {
		kind, err := redis.String(s.conn.Do("TYPE", key))
		if err != nil {
			return nil, err
		}
		left, err := redis.Int64(s.conn.Do("PTTL", key))
		if err != nil {
			return nil, err
		}
		read := map[string][]any{
			"string": {"GET", key},
			"hash":   {"HGETALL", key},
			"list":   {"LRANGE", key, 0, -1},
			"set":    {"SMEMBERS", key},
			"zset":   {"ZRANGE", key, 0, -1, "WITHSCORES"},
			"none":   {"EXISTS", key}, // a key that KEYS names and that is not there
		}[kind]
		if read == nil {
			return nil, fmt.Errorf("%s: %q is a %s, which this test does not read", s.name, key, kind)
		}
		value, err := s.do(read...)
		if err != nil {
			return nil, err
		}
		if kind == "hash" || kind == "set" {
			value = sorted(value, kind == "hash")
		}
		all[strconv.Quote(key)] = kind + " " + inWords(value) + ", " + strconv.FormatInt(left, 10) + " ms left"
	}
	return all, nil
}

func (p *pair) sides() [2]*side { return [2]*side{p.real, p.simulated} }

// messageBound is how much later than a reply the simulated master may deliver a message.
const messageBound = 2 * time.Second

// messages returns the messages to the waiting clients of both since the last call.
func (p *pair) messages() (messages [2][]string, err error) {
	for deadline := time.Now().Add(messageBound); ; time.Sleep(time.Millisecond) {
		for i, s := range p.sides() {
			more, err := s.heard()
			if err != nil {
				return messages, fmt.Errorf("%s: %w", s.name, err)
			}
			messages[i] = append(messages[i], more...)
		}
		if len(messages[0]) == len(messages[1]) || time.Now().After(deadline) {
			return messages, nil
		}
	}
}

// reset empties both and sets their clocks to the beginning.
func (p *pair) reset() error {
	p.now = began
	if err := p.hold(began); err != nil {
		return err
	}
	for _, s := range p.sides() {
		for _, command := range []string{"FLUSHALL", "PING"} {
			if _, err := s.conn.Do(command); err != nil {
				return err
			}
		}
		if _, err := s.heard(); err != nil {
			return err
		}
	}
	return nil
}

// move moves both clocks. A real master expires a key when a command reads it, and otherwise
// some time later: so a command reads all keys.
func (p *pair) move(step time.Duration) error {
	keys, err := redis.Values(p.real.conn.Do("KEYS", "*"))
	if err != nil {
		return err
	}
	p.now = p.now.Add(step)
	if err := p.hold(p.now); err != nil || len(keys) == 0 {
		return err
	}
	_, err = p.real.conn.Do("EXISTS", keys...)
	return err
}
