package redlock_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// setDefaultLogger makes a buffer the program's log, for all levels, until the test ends.
func setDefaultLogger(t *testing.T) *logBuffer {
	t.Helper()
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	log := new(logBuffer)
	slog.SetDefault(log.logger())
	return log
}

// breakThings brings a client into all situations of which it warns.
func breakThings(t *testing.T, s *sim, opts ...redlock.Option) {
	t.Helper()
	c := s.open(opts...)
	mustLock(t, c, "key", redlock.WithTTL(time.Second))
	s.Restart(false, 0)
	time.Sleep(5 * time.Second) // the master is adopted
	s.Kill(0, 1)
	time.Sleep(time.Minute)
}

// A client without a logger of its own still logs warnings that somebody has to see.
func TestWarningsGoToTheDefaultLogger(t *testing.T) {
	inSim(t, 4, func(t *testing.T, s *sim) {
		log := setDefaultLogger(t)
		breakThings(t, s)
		for _, want := range []string{
			`level=WARN msg="an even number of masters`,
			`level=WARN msg="master lost"`, `level=WARN msg="master may not vote"`, `level=WARN msg="lock lost" key=key`,
		} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %s:\n%s", want, log)
			}
		}
		if n := strings.Count(log.String(), `msg="renewal failed"`); n != 1 {
			t.Errorf("%d failed renewals in a row are warned of:\n%s", n, log)
		}
		if strings.Contains(log.String(), "level=INFO") || strings.Contains(log.String(), "level=DEBUG") {
			t.Errorf("more than warnings is logged:\n%s", log)
		}
	})
}

func TestANewFleetIsNothingToWarnOf(t *testing.T) {
	inSim(t, 3, func(t *testing.T, s *sim) {
		log := setDefaultLogger(t)
		unlock(t, mustLock(t, s.open(), "key"))
		if log.String() != "" {
			t.Errorf("the log of the first client of new masters:\n%s", log)
		}
	})
}

func TestWithLoggerTakesTheWarningsAndNilSilencesThem(t *testing.T) {
	inSim(t, 4, func(t *testing.T, s *sim) {
		standard, own := setDefaultLogger(t), new(logBuffer)
		breakThings(t, s, redlock.WithLogger(nil))
		s.Restart(true, 0, 1)
		s.open(redlock.WithLogger(own.logger()))
		if standard.String() != "" {
			t.Errorf("the default logger got:\n%s", standard)
		}
		if !strings.Contains(own.String(), "an even number of masters") || !strings.Contains(own.String(), "level=DEBUG") {
			t.Errorf("the logger got:\n%s", own)
		}
	})
}
