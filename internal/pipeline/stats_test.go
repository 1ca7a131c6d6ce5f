package pipeline

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/deliver"
)

func TestStatsMoveAsTheyAreDocumented(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		goOn := s.hold("HOLD")
		s.reply = answers(map[string]string{"BAD": "-ERR bad\r\n"})
		check := func(when string, want Stats) {
			t.Helper()
			synctest.Wait()
			got := p.Stats()
			if (got.Err == nil) != (want.Err == nil) || want.Err != nil && !errors.Is(got.Err, want.Err) && !strings.Contains(got.Err.Error(), want.Err.Error()) {
				t.Errorf("%s: Err %v, want %v", when, got.Err, want.Err)
			}
			got.Err, want.Err, got.RoundTrip, want.Name = nil, nil, 0, "master-1"
			want.RoundTrips = got.RoundTrips // another test checks them
			if got != want {
				t.Errorf("%s:\n got %+v\nwant %+v", when, got, want)
			}
		}
		check("at first", Stats{Err: ErrConnecting})
		first := start(t, p, "GET")
		check("with a call that waits", Stats{Err: ErrConnecting, InFlight: 1})
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
		goOn()
		check("after both", Stats{Connected: true, Epoch: 1, RunID: testRunID, Commands: 4, Failures: 1})
		_ = s.conn(1).Close()
		check("lost", Stats{Err: ErrConnectionLost, Epoch: 1, RunID: testRunID, Commands: 4, Failures: 1})
		for range 2 {
			g.next <- errRefused
			check("refused", Stats{Err: errRefused, Epoch: 1, RunID: testRunID, Commands: 4, Failures: 1})
		}
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
		want := [len(RoundTripBounds) + 1]uint64{0: 1, 3: 1, 6: 2, 7: 1} // up to 0.1, 1, 10 and 25 ms
		if got := p.Stats(); got.RoundTrips != want || got.RoundTripSum != 33*time.Millisecond {
			t.Errorf("counted %v, %v together: want %v", got.RoundTrips, got.RoundTripSum, want)
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

func TestConnectionsAndLossesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		g := newGate(s)
		var log bytes.Buffer
		cfg := g.config()
		cfg.Deliverer = deliver.New(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{
			Level: slog.LevelDebug,
			ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			},
		})))
		p := open(t, cfg)
		g.next <- errRefused
		time.Sleep(warnEvery)
		g.next <- errRefused // it is logged once
		g.next <- nil
		synctest.Wait()
		mustAnswer(t, p, "OK", "GET", "x")
		_ = s.conn(1).Close()
		g.next <- nil
		synctest.Wait()
		time.Sleep(warnEvery)
		p.Close() // Close is no loss
		synctest.Wait()
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
