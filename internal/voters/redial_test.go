package voters

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/deliver"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
)

// A demotedConn leads to a server that says that it is no master while demoted is set.
type demotedConn struct {
	net.Conn
	demoted *atomic.Bool
}

func (c demotedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.demoted.Load() {
		copy(p[:n], bytes.ReplaceAll(p[:n], []byte("role:master"), []byte("role:mastex")))
	}
	return n, err
}

// An address may lead to another server by now, while the old one goes on as a replica. As long as
// the old one answers, nobody else would notice.
func TestAServerThatIsNoMasterIsDialledAgain(t *testing.T) {
	inFleet(t, func(f *fleet) {
		_, _, end := f.watch(f.Dialer())
		end() // declared
		var demoted atomic.Bool
		var dials []time.Time
		log := &bytes.Buffer{}
		d := deliver.New(slog.New(slog.NewTextHandler(log, nil)))
		pipes := f.Pipelines(func(i int, c *pipeline.Config) {
			c.Deliverer = d
			c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := f.Dialer()(ctx, network, addr)
				if i == 0 && err == nil {
					dials = append(dials, time.Now())
					conn = demotedConn{conn, &demoted}
				}
				return conn, err
			}
		})
		g := New(Config{
			Group: &quorum.Group{Masters: pipes, Need: fleetOf/2 + 1, Clock: drift.Cumulative(drift.System()), Closing: context.Background(), Deliverer: d},
			Guard: guard.Config{Level: guard.Standard, MaxTTL: time.Minute, Masters: fleetOf, Drift: drift.Default},
		})
		defer d.Close()
		defer g.Close()
		time.Sleep(time.Minute)
		f.wantVotes(g, fleetOf)
		for range 2 { // the pauses begin anew each time
			dials = nil
			demoted.Store(true)
			began := time.Now()
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			f.wantVotes(g, fleetOf-1)
			var pauses []time.Duration
			for _, at := range dials {
				pauses = append(pauses, at.Sub(began).Round(time.Second))
				began = at
			}
			if len(pauses) != 8 || pauses[0] > 5*time.Second {
				t.Fatalf("dialled after %v, want at most 5s, 5s, 10s, 20s, 40s, and then a minute each", pauses)
			}
			for i, want := range []time.Duration{5e9, 10e9, 20e9, 40e9, 60e9, 60e9, 60e9} {
				if pauses[i+1] != want {
					t.Errorf("dialled after %v, want at most 5s, 5s, 10s, 20s, 40s, and then a minute each", pauses)
				}
			}
			demoted.Store(false)
			time.Sleep(6 * time.Second) // a look finds it
			synctest.Wait()
			f.wantVotes(g, fleetOf)
		}
		if lines := strings.Split(strings.TrimSpace(log.String()), "\n"); len(lines) != 4 {
			t.Errorf("want two lines when it has lost its vote, and two when it has it again:\n%s", log)
		}
	})
}

// Without a guard nobody looks. An error reply to a lock shows the change, and the next counts 5 s
// later.
func TestWithoutGuardAnErrorReplyRedialsADemotedServer(t *testing.T) {
	inFleet(t, func(f *fleet) {
		dials := 0
		pipes := f.Pipelines(func(i int, c *pipeline.Config) {
			c.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				if i == 0 {
					dials++
				}
				return f.Dialer()(ctx, network, addr)
			}
		})
		g := New(Config{
			Group: &quorum.Group{Masters: pipes, Need: fleetOf/2 + 1, Clock: drift.Runtime(), Closing: context.Background()},
			Guard: guard.Config{Level: guard.Off},
		})
		defer g.Close()
		for range 20 { // seconds
			synctest.Wait()
			g.ErrorReply(0, &pipeline.Call{Epoch: pipes[0].Stats().Epoch, Err: redis.Error("READONLY You can't write against a read only replica.")})
			g.ErrorReply(0, &pipeline.Call{Epoch: pipes[0].Stats().Epoch, Err: redis.Error("OOM command not allowed")})
			time.Sleep(time.Second)
		}
		if dials != 4 {
			t.Errorf("%d dials, want the first and three more", dials)
		}
	})
}
