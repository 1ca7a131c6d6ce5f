package pool

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
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

func open(t *testing.T, urls []string, opts ...Option) *Pool {
	t.Helper()
	p, err := New(urls, opts...)
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

func TestAPoolServesEveryMasterInTheOrderOfTheURLs(t *testing.T) {
	var urls []string
	var masters []*miniredis.Miniredis
	for range 5 {
		m := miniredis.RunT(t)
		masters = append(masters, m)
		urls = append(urls, "redis://"+m.Addr())
	}
	p := open(t, urls, WithCommandTimeout(123*time.Millisecond))
	if p.Len() != 5 || len(p.Masters()) != 5 || p.CommandTimeout() != 123*time.Millisecond {
		t.Errorf("%d masters, %d pipelines, command timeout %v", p.Len(), len(p.Masters()), p.CommandTimeout())
	}
	for i, m := range p.masters {
		if c := ask(m, "SET", "key", i).wait(t); c.Err != nil || c.Reply != "OK" {
			t.Fatalf("master %d: %v, %v", i, c.Reply, c.Err)
		}
	}
	for i, m := range masters {
		if got, err := m.Get("key"); err != nil || got != fmt.Sprint(i) {
			t.Errorf("master %d has %q, %v", i, got, err)
		}
	}
	for i, s := range p.Stats() {
		if s.Name != masters[i].Addr() || !s.Connected || s.Epoch != 1 || s.Commands != 1 || s.InFlight != 0 || s.Err != nil {
			t.Errorf("master %d: %+v", i, s)
		}
	}
}

func TestCredentialsAndDatabaseOfTheURLAreUsed(t *testing.T) {
	m := miniredis.RunT(t)
	m.RequireUserAuth("me", "p@:/#%")
	p := open(t, []string{"redis://me:p%40%3A%2F%23%25@" + m.Addr() + "/7"})
	if c := ask(p.masters[0], "SET", "key", "value").wait(t); c.Err != nil {
		t.Fatal(c.Err)
	}
	if got, err := m.DB(7).Get("key"); err != nil || got != "value" {
		t.Errorf("database 7 has %q, %v", got, err)
	}
}

func TestAWrongPasswordIsAConfigErrorWithoutThePassword(t *testing.T) {
	const secret = "wr0ng@:/#%"
	m := miniredis.RunT(t)
	m.RequireUserAuth("me", "right")
	p := open(t, []string{"redis://" + m.Addr()}, WithAuth("me", secret))
	c := ask(p.masters[0], "GET", "key").wait(t)
	var config *ConfigError
	if !errors.As(c.Err, &config) || !errors.Is(c.Err, ErrDown) || config.What != "AUTH as me" {
		t.Errorf("error %v", c.Err)
	}
	if shown := fmt.Sprintf("%v %+v", c.Err, p.Stats()); strings.Contains(shown, secret) {
		t.Errorf("the password is in %s", shown)
	}
}

func TestAUnixSocketIsAnAddressLikeAnyOther(t *testing.T) {
	m := miniredis.RunT(t)
	// The dialer is given network and address as they are in the URL.
	dialled := make(chan string, 10)
	p := open(t, []string{"unix:///run/redis%201.sock"}, WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialled <- network + " " + addr
		return new(net.Dialer).DialContext(ctx, "tcp", m.Addr())
	}))
	if c := ask(p.masters[0], "SET", "key", "value").wait(t); c.Err != nil {
		t.Fatal(c.Err)
	}
	if got := <-dialled; got != "unix /run/redis 1.sock" {
		t.Errorf("dialled %q", got)
	}
	if got := p.Stats()[0].Name; got != "/run/redis 1.sock" {
		t.Errorf("name %q", got)
	}
}

// A master that is not there holds up nobody, and the pool least of all.
func TestNewWaitsForNoMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		begun := time.Now()
		p := open(t, []string{"redis://a", "redis://b"}, WithDialer(hangs))
		if took := time.Since(begun); took != 0 {
			t.Errorf("New took %v", took)
		}
		for i, s := range p.Stats() {
			if s.Connected || s.Err == nil || s.Epoch != 0 {
				t.Errorf("master %d: %+v", i, s)
			}
		}
	})
}

func TestCloseEndsEverythingAndIsIdempotent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			time.Sleep(time.Second) // as long as this dialer takes to notice
			return nil, ctx.Err()
		}
		p := open(t, []string{"redis://a", "redis://b", "redis://c"}, WithDialer(hangs))
		var calls []reply
		for _, m := range p.masters {
			calls = append(calls, ask(m, "GET", "key"))
		}
		synctest.Wait()
		begun := time.Now()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(begun); took != time.Second {
			t.Errorf("Close took %v: the masters are not closed side by side", took)
		}
		for _, r := range calls {
			select {
			case c := <-r:
				if !errors.Is(c.Err, ErrClosed) {
					t.Errorf("error %v, want ErrClosed", c.Err)
				}
			default:
				t.Error("a call is pending after Close")
			}
		}
		if c := ask(p.masters[0], "GET", "key").wait(t); !errors.Is(c.Err, ErrClosed) {
			t.Errorf("after Close: %v", c.Err)
		}
	})
}

func TestAPoolRecoversWhenAMasterIsBack(t *testing.T) {
	m := miniredis.RunT(t)
	p := open(t, []string{"redis://" + m.Addr()}, WithBackoff(time.Millisecond, 5*time.Millisecond))
	master := p.masters[0]
	if c := ask(master, "SET", "key", "value").wait(t); c.Err != nil {
		t.Fatal(c.Err)
	}
	m.Close()
	eventually(t, "the master counts as down", func() bool { return errors.Is(ask(master, "GET", "key").wait(t).Err, ErrDown) })
	if err := m.Restart(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is back", func() bool { return p.Stats()[0].Connected })
	if c := ask(master, "GET", "key").wait(t); c.Err != nil || c.Epoch < 2 {
		t.Errorf("error %v, epoch %d", c.Err, c.Epoch)
	}
	if s := p.Stats()[0]; s.Reconnects != s.Epoch-1 || s.Err != nil {
		t.Errorf("%+v", s)
	}
}

// What package redlock compares with.
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

// What users are given shows no internal types, and is what the pipelines know.
func TestMastersAndTheirStatsAreTold(t *testing.T) {
	a, b := miniredis.RunT(t), miniredis.RunT(t)
	p := open(t, []string{"redis://" + a.Addr(), "redis://" + b.Addr() + "/3"})
	for i, m := range p.Masters() {
		if c := ask(p.masters[i], "GET", "key").wait(t); c.Err != nil {
			t.Fatal(c.Err)
		}
		if want := []string{a.Addr(), b.Addr()}[i]; m.Name() != want || m.DB() != []int{0, 3}[i] || !m.Connected() {
			t.Errorf("master %d: %q, database %d, connected %v", i, m.Name(), m.DB(), m.Connected())
		}
		if one, all := m.Stats(), p.Stats()[i]; one != all || one.Commands != 1 {
			t.Errorf("master %d: %+v and %+v", i, one, all)
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
