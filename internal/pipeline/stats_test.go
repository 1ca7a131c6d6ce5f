package pipeline

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestStatsMoveAsTheyAreDocumented(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		hold := make(chan struct{})
		s.reply = func(_ *fakeConn, args []string) string {
			switch args[0] {
			case "HOLD":
				<-hold
			case "BAD":
				return "-ERR bad\r\n"
			}
			return "+OK\r\n"
		}
		g := newGate(s)
		p := open(t, g.config())
		check := func(when string, want Stats) {
			t.Helper()
			synctest.Wait()
			got := p.Stats()
			if (got.Err == nil) != (want.Err == nil) || want.Err != nil && !errors.Is(got.Err, want.Err) && !strings.Contains(got.Err.Error(), want.Err.Error()) {
				t.Errorf("%s: Err %v, want %v", when, got.Err, want.Err)
			}
			got.Err, want.Err, got.RoundTrip, want.Name = nil, nil, 0, "master-1"
			if got != want {
				t.Errorf("%s:\n got %+v\nwant %+v", when, got, want)
			}
		}
		check("at first", Stats{Err: errors.New("not connected yet")})
		first := start(t, p, "GET")
		check("with a call that waits", Stats{Err: errors.New("not connected yet"), InFlight: 1})
		g.next <- nil
		first.wait()
		check("after a reply", Stats{Connected: true, Epoch: 1, RunID: testRunID, Commands: 1})
		if c := do(t, p, "BAD"); c.Err == nil {
			t.Error("no error")
		}
		check("after an error reply", Stats{Connected: true, Epoch: 1, RunID: testRunID, Commands: 2, Failures: 1})
		start(t, p, "HOLD")
		start(t, p, "GET")
		check("with two under way", Stats{Connected: true, Epoch: 1, RunID: testRunID, Commands: 2, Failures: 1, InFlight: 2})
		close(hold)
		check("after both", Stats{Connected: true, Epoch: 1, RunID: testRunID, Commands: 4, Failures: 1})
		_ = s.conn(1).Close()
		check("lost", Stats{Err: ErrConnectionLost, Epoch: 1, RunID: testRunID, Commands: 4, Failures: 1})
		g.next <- errRefused
		check("refused", Stats{Err: errRefused, Epoch: 1, RunID: testRunID, Commands: 4, Failures: 1})
		do(t, p, "GET")
		check("after a call that failed at once", Stats{Err: errRefused, Epoch: 1, RunID: testRunID, Commands: 4, Failures: 2})
		g.next <- nil
		check("back", Stats{Connected: true, Epoch: 2, RunID: testRunID, Commands: 4, Failures: 2, Reconnects: 1})
		p.Close()
		check("closed", Stats{Err: ErrClosed, Epoch: 2, RunID: testRunID, Commands: 4, Failures: 2, Reconnects: 1})
		if p.Name() != "master-1" {
			t.Errorf("name %q", p.Name())
		}
	})
}

func TestTheRoundTripIsAMovingAverage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		delay := make(chan time.Duration, 1)
		s.reply = func(*fakeConn, []string) string {
			time.Sleep(<-delay)
			return "+OK\r\n"
		}
		p := connect(t, s.config())
		if rt := p.Stats().RoundTrip; rt != 0 {
			t.Errorf("%v before the first command", rt)
		}
		for _, step := range []struct{ delay, want time.Duration }{
			{8 * time.Millisecond, 8 * time.Millisecond},  // the first counts whole
			{16 * time.Millisecond, 9 * time.Millisecond}, // then an eighth of the difference
			{1 * time.Millisecond, 8 * time.Millisecond},  //
			{8 * time.Millisecond, 8 * time.Millisecond},  //
			{0, 7 * time.Millisecond},                     //
		} {
			delay <- step.delay
			mustAnswer(t, p, "OK", "GET", "x")
			if got := p.Stats().RoundTrip; got != step.want {
				t.Errorf("after %v: %v, want %v", step.delay, got, step.want)
			}
		}
		for range 300 { // it falls, but is never taken for not measured
			delay <- 0
			mustAnswer(t, p, "OK", "GET", "x")
		}
		if got := p.Stats().RoundTrip; got <= 0 || got > 10*time.Nanosecond {
			t.Errorf("after many without delay: %v", got)
		}
	})
}

// A batch is one sample: those behind the first have waited for it.
func TestABatchIsOneSampleOfTheRoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.reply = func(*fakeConn, []string) string {
			time.Sleep(10 * time.Millisecond)
			return "+OK\r\n"
		}
		g := newGate(s)
		p := open(t, g.config())
		var calls []*waiter
		for range 20 {
			calls = append(calls, start(t, p, "GET"))
		}
		g.next <- nil
		for _, w := range calls {
			w.wait()
		}
		if got := p.Stats().RoundTrip; got != 10*time.Millisecond {
			t.Errorf("round trip %v, want 10ms", got)
		}
	})
}

func TestEpochsCountConnectionsAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		g := newGate(s)
		p := open(t, g.config())
		for n := uint64(1); n <= 5; n++ {
			for range 2 {
				g.next <- errRefused
			}
			g.next <- nil
			synctest.Wait()
			c := mustAnswer(t, p, "OK", "GET", "x")
			if got := p.Stats(); c.Epoch != n || got.Epoch != n || got.Reconnects != n-1 {
				t.Errorf("connection %d: epoch %d, stats %+v", n, c.Epoch, got)
			}
			_ = s.conn(int(n)).Close()
			synctest.Wait()
		}
	})
}

func TestGainsAndLossesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		g := newGate(s)
		var log bytes.Buffer
		cfg := g.config()
		cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{
			Level: slog.LevelDebug,
			ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			},
		}))
		p := open(t, cfg)
		g.next <- errRefused
		g.next <- errRefused // said once
		g.next <- nil
		synctest.Wait()
		mustAnswer(t, p, "OK", "GET", "x")
		_ = s.conn(1).Close()
		g.next <- nil
		synctest.Wait()
		p.Close() // is no loss
		want := `level=WARN msg="master unreachable" master=master-1 error="connect: connection refused"
level=DEBUG msg="master connected" master=master-1 epoch=1
level=WARN msg="master lost" master=master-1 error="connection lost: closed by the master"
level=DEBUG msg="master connected" master=master-1 epoch=2
`
		if log.String() != want {
			t.Errorf("log:\n%swant:\n%s", log.String(), want)
		}
	})
}

// A log handler is a callback like any other: it may look at the pipeline.
func TestALogHandlerMayAskForStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		g := newGate(s)
		cfg := g.config()
		h := &asking{}
		cfg.Logger = slog.New(h)
		p := open(t, cfg)
		h.p = p
		g.next <- errRefused
		g.next <- nil
		synctest.Wait()
		mustAnswer(t, p, "OK", "GET", "x")
		_ = s.conn(1).Close()
		g.next <- nil
		synctest.Wait()
		mustAnswer(t, p, "OK", "GET", "x")
		p.Close()
		if h.asked != 4 {
			t.Errorf("asked %d times", h.asked)
		}
	})
}

type asking struct {
	p     *Pipeline
	asked int
}

func (h *asking) Enabled(context.Context, slog.Level) bool { return true }
func (h *asking) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *asking) WithGroup(string) slog.Handler            { return h }
func (h *asking) Handle(context.Context, slog.Record) error {
	h.p.Stats()
	_, _ = h.p.Up()
	h.asked++
	return nil
}

func TestDefaultsAreFilledIn(t *testing.T) {
	got := Config{}.withDefaults()
	if got.DialTimeout != 2*time.Second || got.StallLimit != time.Second || got.MinBackoff != 10*time.Millisecond ||
		got.MaxBackoff != time.Second || got.QueueLimit != 65_536 || got.Dialer == nil || got.Logger == nil {
		t.Errorf("defaults: %+v", got)
	}
	set := Config{DialTimeout: 1, StallLimit: 2, MinBackoff: 3, MaxBackoff: 4, QueueLimit: 5}
	got = set.withDefaults()
	if got.DialTimeout != 1 || got.StallLimit != 2 || got.MinBackoff != 3 || got.MaxBackoff != 4 || got.QueueLimit != 5 {
		t.Errorf("what was set is changed: %+v", got)
	}
}
