package voters

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/testutil/masters"
)

const fleetOf = 3

// A fleet is simulated masters, and the clients that watch them.
type fleet struct{ *masters.Bubble }

func inFleet(t *testing.T, test func(f *fleet)) {
	t.Helper()
	masters.InBubble(t, fleetOf, func(_ *testing.T, b *masters.Bubble) { test(&fleet{b}) })
}

// A flightConn notes each write.
type flightConn struct {
	net.Conn
	mu      sync.Mutex // guards flights
	flights []string
}

func (c *flightConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.flights = append(c.flights, string(p))
	c.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *flightConn) written() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flights
}

// watch makes a Monitor and then the connections, and waits until the Monitor has judged all
// masters that can be judged.
func (f *fleet) watch(dial func(ctx context.Context, network, addr string) (net.Conn, error)) (*Monitor, []*flightConn, func()) {
	f.T.Helper()
	begin := make(chan struct{})
	conns := make([]*flightConn, fleetOf)
	pipes := f.Pipelines(func(i int, c *pipeline.Config) {
		c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			<-begin
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			c := &flightConn{Conn: conn}
			conns[i] = c
			return c, nil
		}
	})
	g := New(Config{
		Group: &quorum.Group{Masters: pipes, Need: fleetOf/2 + 1, Clock: drift.Cumulative(drift.System()), Closing: context.Background()},
		Guard: guard.Config{Level: guard.Standard, MaxTTL: time.Minute, Masters: fleetOf, Drift: drift.Default},
	})
	close(begin)
	synctest.Wait()
	time.Sleep(time.Second)
	synctest.Wait()
	return g, conns, func() {
		g.Close()
		for _, p := range pipes {
			p.Close()
		}
	}
}

func (f *fleet) wantVotes(g *Monitor, want int) {
	f.T.Helper()
	votes := 0
	for _, s := range g.Standings() {
		if s.Vote {
			votes++
		}
	}
	if votes != want {
		f.T.Errorf("%d masters vote, want %d: %+v", votes, want, g.Standings())
	}
}

func TestADeclaredFleetIsJudgedByTheHandshakeAlone(t *testing.T) {
	inFleet(t, func(f *fleet) {
		g, _, end := f.watch(f.Dialer())
		f.wantVotes(g, fleetOf) // declared
		end()
		g, conns, end := f.watch(f.Dialer())
		defer end()
		f.wantVotes(g, fleetOf)
		for i, c := range conns {
			flights := c.written()
			if len(flights) != 1 || !strings.Contains(flights[0], "EVAL") || !strings.Contains(flights[0], "PING") {
				t.Errorf("master %d was asked in %d flights, want the handshake alone: %q", i, len(flights), flights)
			}
			if r := g.voteStates[i].Load(); r.epoch != 1 || r.mark == "" || r.reason != nil {
				t.Errorf("master %d: %+v", i, r)
			}
		}
	})
}

// Answers of another process do not count.
func TestGreetingAnsweredByAnotherProcessIsIgnored(t *testing.T) {
	inFleet(t, func(f *fleet) {
		g, _, end := f.watch(f.Dialer())
		f.wantVotes(g, fleetOf)
		end()
		g = &Monitor{cfg: Config{
			Group: &quorum.Group{Clock: drift.System()},
			Guard: guard.Config{Level: guard.Standard, MaxTTL: time.Minute, Masters: fleetOf},
		}}
		const run = "0123456789012345678901234567890123456789"
		marker := func(run string) []any {
			return []any{
				[]byte("SAME"), int64(1), []byte("3"), []byte(run), []byte("r"), []byte("0"), []byte("0"), []byte("60000"),
				[]byte("3"), []byte("standard"), []byte("0"), []byte("declared"), []byte(""), []byte(""), []byte(""), []byte(""),
			}
		}
		for name, test := range map[string]struct {
			run   string
			epoch uint64
			err   error
			later time.Duration
			reply any
			want  bool
		}{
			"one process":              {run, 1, nil, 0, marker(run), true},
			"no marker":                {run, 1, nil, 0, []any{[]byte("MISSING"), int64(1), int64(0), []byte("r"), []byte("1"), []byte("1"), []byte("")}, true},
			"another process":          {run, 1, nil, 0, marker("f" + run[1:]), false},
			"a process that is silent": {"", 1, nil, 0, marker(run), false},
			"another connection":       {run, 2, nil, 0, marker(run), false},
			"a refusal":                {run, 1, &pipeline.ConfigError{What: "EVAL"}, 0, nil, false},
			"too late":                 {run, 1, nil, waitForDial + 1, marker(run), false},
			"no marker's reply":        {run, 1, nil, 0, "OK", false},
		} {
			q := &inquiry{g: g, sent: g.cfg.Clock.Now(), epoch: 1}
			q.add("EVAL")
			c := &q.calls[0]
			c.Reply, c.Err, c.Epoch = test.reply, test.err, 1
			time.Sleep(test.later)
			q.epoch = test.epoch
			if got := q.suffices(test.epoch, test.run); got != test.want {
				t.Errorf("%s: %t, want %t", name, got, test.want)
			}
		}
	})
}
