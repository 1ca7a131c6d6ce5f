package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/deliver"
)

func TestAMasterThatIsDownIsDialledWithABackoff(t *testing.T) {
	for _, least := range []time.Duration{0, 20 * time.Millisecond} { // 0: the default
		synctest.Test(t, func(t *testing.T) {
			g := newGate(newFakeServer(t))
			cfg := g.config()
			cfg.MinBackoff, cfg.MaxBackoff = least, 200*time.Millisecond
			p := open(t, cfg)
			g.next <- errRefused
			full, low, high := cmp.Or(least, 10*time.Millisecond), false, false
			for n := range 50 {
				last := time.Now()
				g.next <- errRefused // when the next dial comes
				gap := time.Since(last)
				if gap < full/2 || gap >= full {
					t.Errorf("pause %d: %v, want %v to %v", n, gap, full/2, full)
				}
				low, high = low || gap < full*3/4, high || gap >= full*3/4
				full = min(2*full, cfg.MaxBackoff)
			}
			if !low || !high {
				t.Error("the pauses are not random")
			}
			g.next <- nil
			synctest.Wait()
			mustAnswer(t, p, "OK", "GET", "x")
		})
	}
}

// Servers (timeout in redis.conf) and proxies close idle connections. That never counts as a failed
// dial.
func TestAnIdleConnectionThatIsClosedIsReplacedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		p := connect(t, s.config())
		for n := 1; n < 20; n++ {
			time.Sleep(5 * time.Minute)
			mustReplaceAtOnce(t, p, s)
		}
		mustAnswer(t, p, "OK", "GET", "x")
	})
}

// mustReplaceAtOnce closes the latest connection, which must be replaced without a pause.
func mustReplaceAtOnce(t *testing.T, p *Pipeline, s *fakeServer) {
	t.Helper()
	begun := time.Now()
	_ = s.conn(s.dials()).Close()
	synctest.Wait()
	if up, err := p.Up(); !up || time.Since(begun) != 0 {
		t.Fatalf("connection %d: up %t, %v, after %v", s.dials(), up, err, time.Since(begun))
	}
}

func TestAServerThatGreetsAndHangsUpIsNotDialledInALoop(t *testing.T) {
	for name, hangUp := range map[string]func(c *fakeConn){
		"at once":                func(c *fakeConn) { _ = c.Close() },
		"with an unwanted reply": func(c *fakeConn) { _, _ = io.WriteString(c, "+BYE\r\n") },
	} {
		inBubble(t, name, func(t *testing.T) {
			s := newFakeServer(t)
			s.greet = func(c *fakeConn, args []string) (string, bool) {
				if join(args) == "CLIENT ID" {
					return "-NOPERM\r\n", true // so that no connection is killed
				}
				if args[0] != "PING" { // it is the last of the handshake
					return "", false
				}
				_, _ = io.WriteString(c, c.greeting(args))
				hangUp(c)
				return "", true
			}
			p := open(t, s.config())
			time.Sleep(time.Minute)
			// With pauses of half a second to a second, after the first few.
			if n := s.dials(); n < 60 || n > 130 {
				t.Errorf("%d dials in a minute", n)
			}
			begun := time.Now()
			if c := do(t, p, "GET", "x"); !errors.Is(c.Err, ErrDown) || time.Since(begun) != 0 {
				t.Errorf("error %v after %v, want ErrDown at once", c.Err, time.Since(begun))
			}
		})
	}
}

// Without the backoff, one bad master of three had 927 dials and as many warnings in four seconds.
func TestAMasterThatBreaksAfterEachReplyIsDialledWithABackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.reply = func(c *fakeConn, _ []string) string {
			_, _ = io.WriteString(c, "+OK\r\n")
			time.Sleep(4 * time.Millisecond)
			_ = c.Close()
			return ""
		}
		var log bytes.Buffer
		cfg := s.config()
		cfg.Deliverer = deliver.New(slog.New(slog.NewTextHandler(&log, nil)))
		p := connect(t, cfg)
		for begun := time.Now(); time.Since(begun) < 25*time.Second; time.Sleep(time.Millisecond) {
			start(t, p, "GET", "x")
		}
		// With pauses of an eighth to a quarter of a second, after the first few.
		if n := s.dials(); n < 95 || n > 200 {
			t.Errorf("%d dials in 25 seconds", n)
		}
		p.Close()
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if len(lines) != 3 || strings.Contains(lines[0], "times=") {
			t.Fatalf("want three warnings, of which the first has no count:\n%s", log.String())
		}
		counted := 1
		for _, line := range lines[1:] {
			var times int
			if _, rest, found := strings.Cut(line, "times="); found {
				_, _ = fmt.Sscanf(rest, "%d since=", &times)
			}
			counted += times
		}
		if last := s.dials(); counted < 20 || counted > last {
			t.Errorf("%d losses are counted, of %d connections:\n%s", counted, last, log.String())
		}
	})
}

// Connections that serve for a while are replaced at once, even if one is lost every 240 ms. With
// the pauses of a master that is down there would hardly be a quorum.
func TestAMasterWhoseConnectionsAreResetInARhythmIsDialledAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		p := connect(t, s.config())
		for range 40 {
			mustAnswer(t, p, "OK", "GET", "x")
			time.Sleep(240 * time.Millisecond)
			mustReplaceAtOnce(t, p, s)
		}
	})
}

// While calls wait for a master, it is dialled ten times a second, and at once when the first call
// begins to wait. A master that answers and refuses the client is not.
func TestAMasterThatCallsWaitForIsDialledSooner(t *testing.T) {
	for _, test := range []struct {
		name        string
		cause       error
		least, most time.Duration // of the pauses meanwhile
	}{
		{"it cannot be reached", errRefused, 0, wantedEvery},
		{"it refuses this client", &ConfigError{What: "AUTH", Err: errors.New("WRONGPASS")}, time.Second / 2, time.Second},
		{"it is loading", redis.Error("LOADING"), time.Second / 2, time.Second},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			g := newGate(newFakeServer(t))
			p := open(t, g.config())
			for range 10 {
				g.next <- test.cause
			}
			synctest.Wait()
			time.Sleep(110 * time.Millisecond)
			begun := time.Now()
			p.AddWaiting(1)
			for n := range 20 {
				g.next <- test.cause
				least, most := test.least, test.most
				if n == 0 { // a part of this pause is over
					least, most = max(0, least-110*time.Millisecond), max(0, most-110*time.Millisecond)
				}
				if gap := time.Since(begun); gap < least || gap > most {
					t.Errorf("pause %d: %v, want %v to %v", n, gap, least, most)
				}
				begun = time.Now()
			}
			p.AddWaiting(1)
			p.AddWaiting(-2)
			synctest.Wait()
			g.next <- test.cause // by a timer that was set before
			begun = time.Now()
			if g.next <- test.cause; time.Since(begun) < time.Second/2 {
				t.Errorf("dialled after %v though nobody waits any more", time.Since(begun))
			}
			g.next <- nil
		})
	}
}

func TestAConnectionThatLastsResetsTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		p := connect(t, s.config())
		for range 6 { // pauses of up to 320 ms
			waitUp(t, p)
			mustAnswer(t, p, "OK", "GET", "x")
			_ = s.conn(s.dials()).Close()
			synctest.Wait()
		}
		if up, _ := p.Up(); up {
			t.Error("up without a pause after several short connections")
		}
		waitUp(t, p)
		mustAnswer(t, p, "OK", "GET", "x")
		time.Sleep(time.Second)
		for range 2 { // the second loss, after a short connection, is the spare one
			mustReplaceAtOnce(t, p, s)
			mustAnswer(t, p, "OK", "GET", "x")
		}
	})
}

func TestCredentialsAreAskedForAtEveryDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		cfg := s.config()
		cfg.Username, cfg.Password = "ignored", "ignored-as-well"
		asked := 0
		cfg.Credentials = func(ctx context.Context) (string, string, error) {
			if _, ok := ctx.Deadline(); !ok {
				t.Error("the callback has no deadline")
			}
			asked++
			switch asked {
			case 2:
				return "", "", errors.New("the vault is sealed")
			case 4:
				return "", "second", nil
			}
			return "me", "first", nil
		}
		p := connect(t, cfg)
		mustAnswer(t, p, "OK", "GET", "x")
		_ = s.conn(1).Close()
		synctest.Wait()
		var config *ConfigError
		if _, err := p.Up(); !errors.As(err, &config) || config.Error() != "credentials: the vault is sealed" {
			t.Errorf("down because of %v", err)
		}
		waitUp(t, p)
		mustAnswer(t, p, "OK", "GET", "x")
		_ = s.conn(3).Close()
		synctest.Wait()
		waitUp(t, p)
		for n, want := range map[int]string{1: "me first", 3: "me first", 4: "second"} {
			got := s.conn(n).seen()[0]
			if got[0] != "AUTH" || join(got[1:]) != want {
				t.Errorf("connection %d: %v, want AUTH %s", n, got, want)
			}
		}
		if asked != 4 {
			t.Errorf("asked %d times, want 4", asked)
		}
	})
}
