package pipeline

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/deliver"
)

// A vault has a credentials callback that returns when the test says so, and ignores its context.
type vault struct {
	asked  atomic.Int32
	answer chan error // one for each call
}

func (v *vault) ask(context.Context) (username, password string, err error) {
	v.asked.Add(1)
	return "", "", <-v.answer
}

// mustSay fails unless the master is not up, and the error says exactly this.
func mustSay(t *testing.T, p *Pipeline, text string) {
	t.Helper()
	synctest.Wait()
	ok, err := p.Up()
	if ok || !errors.Is(err, ErrDown) || err.Error() != text {
		t.Errorf("up %t, error %v, want %q", ok, err, text)
	}
}

func TestAMasterIsNotReportedDownDuringADial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		dropOn(s)
		g, v := newGate(s), &vault{answer: make(chan error)}
		cfg := g.config()
		cfg.Credentials = v.ask
		p := open(t, cfg)
		watcher := &lastCause{}
		p.Watch(watcher)
		mustSay(t, p, "still connecting")
		for _, first := range []bool{true, false} {
			g.next <- nil
			mustSay(t, p, "waiting for credentials")
			if err := p.Stats().Err; errors.Is(err, ErrConnecting) != first || *watcher.cause.Load() != err { //nolint:errorlint // the very same
				t.Errorf("first dial %t: cause %v; the watcher was told %v", first, err, *watcher.cause.Load())
			}
			v.answer <- nil
			mustAnswer(t, p, "OK", "GET", "x")
			do(t, p, "DROP")
		}
		mustSay(t, p, "master is down: connection lost: closed by the master")
		g.next <- nil
		v.answer <- errors.New("sealed")
		mustSay(t, p, "no password (the master is up): credentials: sealed; mend its credentials")
	})
}

// A lastCause is a Watcher that remembers why the master is not up.
type lastCause struct{ cause atomic.Pointer[error] }

func (l *lastCause) CameUp(uint64, string) []*Call { return nil }
func (*lastCause) SilenceChanged()                 {}

func (l *lastCause) WentDown(_ uint64, cause error, _ bool) { l.cause.Store(&cause) }

func TestACredentialsCallbackThatIgnoresItsContextDoesNotHoldUpClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &vault{answer: make(chan error)}
		defer close(v.answer)
		cfg := newFakeServer(t).config()
		cfg.Credentials = v.ask
		p := open(t, cfg)
		sub := p.Subscribe("channel", deafListener{})
		w := start(t, p, "GET")
		synctest.Wait()
		begun := time.Now()
		sub.Close()
		p.Close()
		if took := time.Since(begun); took > 2*credentialsGrace {
			t.Errorf("Close of both took %v", took)
		}
		mustBeClosed(t, w)
	})
}

func TestACredentialsCallbackThatHasNotReturnedIsNotCalledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &vault{answer: make(chan error)}
		cfg := newFakeServer(t).config()
		cfg.Credentials, cfg.DialTimeout = v.ask, time.Second
		p := open(t, cfg)
		c := mustBeRefused(t, p, credentials, "ignores that its context has ended")
		if !errors.Is(c.Err, ErrTimeout) || IsLasting(c.Err) {
			t.Errorf("error %v", c.Err)
		}
		time.Sleep(time.Minute)
		if n := v.asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
		close(v.answer) // the first one returns, and all from now on
		waitUp(t, p)
		mustAnswer(t, p, "OK", "GET", "x")
	})
}

func TestAPanicOfACredentialsCallbackFailsTheDialAndIsNamed(t *testing.T) {
	for text, fails := range map[string]func(){
		"the callback panicked: boom":      func() { panic("boom") },
		"the callback ended its goroutine": runtime.Goexit,
	} {
		inBubble(t, text, func(t *testing.T) {
			var well atomic.Bool
			s := newFakeServer(t)
			cfg := s.config()
			cfg.Credentials = func(context.Context) (string, string, error) {
				if !well.Load() {
					fails()
				}
				return "", "", nil
			}
			p := open(t, cfg)
			mustBeRefusedWith(t, p, credentials, text)
			if n := len(s.conn(1).seen()); n != 0 {
				t.Errorf("the master was sent %d commands", n)
			}
			well.Store(true)
			waitUp(t, p)
		})
	}
}

func TestALongTextOfAMasterIsCutAlikeInErrorsAndLogs(t *testing.T) {
	long := "ERR " + strings.Repeat("x", 5000)
	cut := long[:512] + "… (5004 bytes)"
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newFakeServer(t)
		s.greet = refuse("AUTH", long)
		s.reply = answers(map[string]string{"GET": "-" + long + "\r\n"})
		cfg := s.config()
		cfg.Password, cfg.Deliverer = "pw", deliver.New(slog.New(slog.NewTextHandler(&log, nil)))
		p := open(t, cfg)
		mustBeRefusedWith(t, p, "AUTH", cut)
		synctest.Wait()
		logged := log.String()
		if !strings.Contains(logged, cut) || strings.Contains(logged, long) {
			t.Errorf("the log says %s", logged)
		}
		s.setGreet(nil)
		waitUp(t, p)
		if c := do(t, p, "GET", "x"); c.Err != error(redis.Error(cut)) { //nolint:errorlint // the bare value
			t.Errorf("error %v", c.Err)
		}
	})
}

func TestAnExcerptIsWholeUpToItsBoundAndCutsNoCharacter(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		strings.Repeat("x", 512):        strings.Repeat("x", 512),
		strings.Repeat("x", 513):        strings.Repeat("x", 512) + "… (513 bytes)",
		strings.Repeat("x", 511) + "äö": strings.Repeat("x", 511) + "… (515 bytes)",
		strings.Repeat("\x80", 600):     strings.Repeat("\x80", 508) + "… (600 bytes)",
		strings.Repeat("x", 509) + "🔒ä": strings.Repeat("x", 509) + "… (515 bytes)",
	} {
		if got := Excerpt(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// After a cut, the text could end with a part of the password, which redacted would not find.
func TestAPasswordIsHiddenBeforeATextIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t)
		s.greet = refuse("AUTH", "ERR "+strings.Repeat("x", 500)+"secret and more")
		cfg := s.config()
		cfg.Password = "secret and"
		c := mustBeRefused(t, open(t, cfg), "AUTH", "xxx[redacte… (")
		if strings.Contains(c.Err.Error(), "secret") {
			t.Errorf("error %v", c.Err)
		}
	})
}
