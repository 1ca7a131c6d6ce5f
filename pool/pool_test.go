package pool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/redquorum/redquorum/internal/pipeline"
)

// A reply waits for one call.
type reply chan *pipeline.Call

func (reply) Abandoned(*pipeline.Call) bool { return false }
func (reply) Delayed(*pipeline.Call, error) {}
func (r reply) Complete(c *pipeline.Call)   { r <- c }
func ask(p *pipeline.Pipeline, cmd string, args ...any) reply {
	r := make(reply, 1)
	p.Enqueue(&pipeline.Call{Command: &pipeline.Command{Cmd: cmd, Encoded: pipeline.AppendCommand(nil, cmd, args...), Owner: r}})
	return r
}

func (r reply) wait(t *testing.T) *pipeline.Call {
	t.Helper()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case c := <-r:
		return c
	case <-timer.C:
		t.Fatalf("no reply within %v", bound)
		return nil
	}
}

// open makes a pool that is patient with a busy machine: embedded masters compile all scripts
// in the handshake.
func open(t *testing.T, urls []string, opts ...Option) *Pool {
	t.Helper()
	p, err := New(urls, append([]Option{WithDialTimeout(time.Minute)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// Users see of masters what the pipelines know, without internal types.
func TestAPoolServesEveryMasterInTheOrderOfTheURLs(t *testing.T) {
	var urls []string
	var servers []*miniredis.Miniredis
	for db := range 5 {
		m := miniredis.RunT(t)
		m.RequireUserAuth("me", "p@:/#%")
		servers = append(servers, m)
		urls = append(urls, fmt.Sprintf("redis://me:p%%40%%3A%%2F%%23%%25@%s/%d", m.Addr(), db))
	}
	p := open(t, urls, WithCommandTimeout(123*time.Millisecond))
	if p.Len() != 5 || len(p.Masters()) != 5 || p.CommandTimeout() != 123*time.Millisecond {
		t.Errorf("%d masters, %d pipelines, command timeout %v", p.Len(), len(p.Masters()), p.CommandTimeout())
	}
	for i, m := range p.Masters() {
		if c := ask(p.masters[i], "SET", "key", i).wait(t); c.Err != nil || c.Reply != "OK" {
			t.Fatalf("master %d: %v, %v", i, c.Reply, c.Err)
		}
		if got, err := servers[i].DB(i).Get("key"); err != nil || got != fmt.Sprint(i) {
			t.Errorf("master %d has %q, %v", i, got, err)
		}
		if m.Name() != servers[i].Addr() || m.DB() != i || !m.Connected() {
			t.Errorf("master %d: %q, database %d, connected %v", i, m.Name(), m.DB(), m.Connected())
		}
		s := p.Stats()[i]
		if s.Name != m.Name() || !s.Connected || s.Epoch != 1 || s.Commands != 1 || s.InFlight != 0 || s.Err != nil || m.Stats() != s {
			t.Errorf("master %d: %+v and %+v", i, s, m.Stats())
		}
	}
}

func TestNewWaitsForNoMasterAndCloseForAllAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			time.Sleep(time.Second) // as long as this dialer takes to notice
			return nil, ctx.Err()
		}
		begun := time.Now()
		p := open(t, []string{"redis://a", "redis://b", "redis://c"}, WithDialer(hangs))
		if took := time.Since(begun); took != 0 {
			t.Errorf("New took %v", took)
		}
		for i, s := range p.Stats() {
			if s.Connected || s.Err == nil || s.Epoch != 0 {
				t.Errorf("master %d: %+v", i, s)
			}
		}
		var calls []reply
		for _, m := range p.masters {
			calls = append(calls, ask(m, "GET", "key"))
		}
		synctest.Wait()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != time.Second {
			t.Errorf("Close took %v: the masters are not closed side by side", took)
		}
		for _, r := range calls {
			if len(r) == 0 {
				t.Fatal("a call is pending after Close")
			}
			if c := <-r; !errors.Is(c.Err, ErrClosed) {
				t.Errorf("error %v, want ErrClosed", c.Err)
			}
		}
	})
}

// Package redlock compares with these errors.
func TestTheErrorsAreThoseOfThePipelines(t *testing.T) {
	for _, pair := range [][2]error{
		{ErrTimeout, pipeline.ErrTimeout}, {ErrDown, pipeline.ErrDown}, {ErrStalled, pipeline.ErrStalled},
		{ErrConnectionLost, pipeline.ErrConnectionLost}, {ErrQueueFull, pipeline.ErrQueueFull},
		{ErrProtocol, pipeline.ErrProtocol}, {ErrClosed, pipeline.ErrClosed},
	} {
		if !errors.Is(pair[0], pair[1]) {
			t.Errorf("%v is not %v", pair[0], pair[1])
		}
	}
}

func TestAConfigErrorIsReachedThroughWhatWrapsIt(t *testing.T) {
	reply := errors.New("WRONGPASS invalid")
	internal := &pipeline.ConfigError{What: "AUTH", Err: reply}
	for _, err := range []error{internal, &pipeline.DownError{Cause: internal}, fmt.Errorf("dial: %w", internal)} {
		var config *ConfigError
		if !errors.As(err, &config) {
			t.Fatalf("%v has no ConfigError", err)
		}
		if config.What != "AUTH" || config.Err != reply || config.Error() != internal.Error() || !errors.Is(err, reply) { //nolint:errorlint // the very same
			t.Errorf("%+v of %v", config, err)
		}
	}
}
