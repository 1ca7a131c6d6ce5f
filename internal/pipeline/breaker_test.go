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
)

// While a master is down the last attempt is what counts.
func TestADialThatFailsFailsTheCallsAtOnceWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, g, p := atGate(t)
		first := start(t, p, "GET", "x")
		for i, cause := range []error{errRefused, errors.New("connect: no route to host"), errRefused} {
			g.next <- cause
			begun := time.Now()
			synctest.Wait()
			failed := []*Call{do(t, p, "GET", "x")}
			if i == 0 {
				failed = append(failed, first.wait())
			}
			for _, c := range failed {
				var down *DownError
				if !errors.Is(c.Err, ErrDown) || !errors.Is(c.Err, cause) || !errors.As(c.Err, &down) {
					t.Errorf("error %v, want a DownError because of %v", c.Err, cause)
				}
				if c.Sent || c.Epoch != 0 || c.Reply != nil {
					t.Errorf("sent %t, epoch %d, reply %v", c.Sent, c.Epoch, c.Reply)
				}
			}
			if took := time.Since(begun); took != 0 {
				t.Errorf("it took %v", took)
			}
		}
		g.next <- nil
		synctest.Wait()
		if ok, err := p.Up(); !ok || err != nil {
			t.Errorf("up %t, %v", ok, err)
		}
		mustAnswer(t, p, "OK", "GET", "x")
	})
}

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

// After a connection that served for a second, the count starts again: the first redial is
// immediate, and calls wait for it. Servers close connections that are idle (timeout in
// redis.conf), and proxies do. That is no failed dial either, however often it happens.
func TestALostConnectionIsReplacedAtOnce(t *testing.T) {
	for name, serves := range map[string]bool{"that served": true, "that was idle": false} {
		inBubble(t, name, func(t *testing.T) {
			s := newFakeServer(t)
			p := connect(t, s.config())
			for n := 1; n < 20; n++ {
				if serves {
					mustSucceed(t, uint64(n), start(t, p, "GET", "x"))
					time.Sleep(time.Second)
				} else {
					time.Sleep(5 * time.Minute)
				}
				begun := time.Now()
				_ = s.conn(n).Close()
				synctest.Wait()
				if ok, err := p.Up(); !ok || time.Since(begun) != 0 {
					t.Fatalf("loss %d: up %t, %v, after %v", n, ok, err, time.Since(begun))
				}
			}
			mustAnswer(t, p, "OK", "GET", "x")
		})
	}
}

func TestAServerThatGreetsAndHangsUpIsNotDialledInALoop(t *testing.T) {
	for _, hangUp := range []struct {
		name string
		when func(c *fakeConn)
	}{
		{"at once", func(c *fakeConn) { _ = c.Close() }},
		{"after a while", func(c *fakeConn) { time.Sleep(time.Millisecond); _ = c.Close() }},
		{"with an unwanted reply", func(c *fakeConn) { _, _ = io.WriteString(c, "+BYE\r\n") }},
	} {
		inBubble(t, hangUp.name, func(t *testing.T) {
			s := newFakeServer(t)
			s.greet = func(c *fakeConn, args []string) (string, bool) {
				if join(args) == "CLIENT ID" {
					return "-NOPERM\r\n", true // so that no connection is killed
				}
				if args[0] != "PING" { // it is the last of the handshake
					return "", false
				}
				_, _ = io.WriteString(c, c.greeting(args))
				hangUp.when(c)
				return "", true
			}
			p := open(t, s.config())
			time.Sleep(time.Minute)
			// With pauses of half a second to a second, after the first few.
			if n := s.dials(); n < 60 || n > 130 {
				t.Errorf("%d dials in a minute", n)
			}
			if up, _ := p.Up(); up {
				return // in its millisecond
			}
			begun := time.Now()
			if c := do(t, p, "GET", "x"); !errors.Is(c.Err, ErrDown) || time.Since(begun) != 0 {
				t.Errorf("error %v after %v, want ErrDown at once", c.Err, time.Since(begun))
			}
		})
	}
}

// One bad master of three had 927 dials, and as many warnings, in four seconds.
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
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		p := connect(t, cfg)
		for begun := time.Now(); time.Since(begun) < 25*time.Second; time.Sleep(time.Millisecond) {
			start(t, p, "GET", "x")
		}
		// With pauses of half a second to a second, after the first few.
		if n := s.dials(); n < 25 || n > 65 {
			t.Errorf("%d dials in 25 seconds", n)
		}
		p.Close()
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

// A connection that lasts makes up for what was before it.
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
		for range 2 { // the second is the one that a short connection has for nothing
			begun := time.Now()
			_ = s.conn(s.dials()).Close()
			synctest.Wait()
			if up, err := p.Up(); !up || time.Since(begun) != 0 {
				t.Errorf("up %t, %v, after %v", up, err, time.Since(begun))
			}
			mustAnswer(t, p, "OK", "GET", "x")
		}
	})
}

// A master that greets and then answers nothing must not be up more often than
// it is worth: every connection costs those who call meanwhile a stall limit.
func TestAMasterThatStallsAgainAndAgainIsDialledWithABackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.hold("GET")
		cfg := s.config()
		cfg.StallLimit, cfg.MaxBackoff = 5*time.Second, 5*time.Second
		p := connect(t, cfg)
		for begun := time.Now(); time.Since(begun) < time.Hour; time.Sleep(100 * time.Millisecond) {
			start(t, p, "GET", "x")
		}
		// 5 to 6.25 s of stall, and 2.5 to 5 s of pause, after the first few.
		if n := s.dials(); n > 500 {
			t.Errorf("%d connections in an hour", n)
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
