package redistest

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/rig"
)

func TestARestartKeepsWhatTheAppendOnlyFileHolds(t *testing.T) {
	for name, test := range map[string]struct {
		appendOnly AppendOnly
		keepData   bool
		orderly    bool
		want       string
	}{
		"always, crash, kept":    {AppendAlways, true, false, "value"},
		"always, orderly, kept":  {AppendAlways, true, true, "value"},
		"everysec, orderly":      {AppendEverySec, true, true, "value"},
		"always, emptied":        {AppendAlways, false, false, ""},
		"none, kept":             {AppendOff, true, false, ""},
		"none, orderly, emptied": {AppendOff, false, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, Config{AppendOnly: test.appendOnly})
			do(t, s, "SET", "key", "value")
			pid, id, addr := s.PID(), runID(t, s), s.Addr()
			end := s.Kill
			if test.orderly {
				end = s.Stop
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
			if alive(pid) || s.PID() != 0 {
				t.Errorf("process %d still exists; PID() is %d", pid, s.PID())
			}
			if _, err := s.Do("PING"); err == nil {
				t.Error("a server that is down answers")
			}
			if err := s.Restart(background(t), test.keepData); err != nil {
				t.Fatal(err)
			}
			if got := get(t, s, "key"); got != test.want {
				t.Errorf("after the restart the key holds %q; want %q", got, test.want)
			}
			if s.Addr() != addr || s.PID() == pid || runID(t, s) == id {
				t.Errorf("before: %s, process %d, run %s; after: %s, process %d, run %s",
					addr, pid, id, s.Addr(), s.PID(), runID(t, s))
			}
		})
	}
}

func TestARestartKillsAServerThatRuns(t *testing.T) {
	s := start(t, Config{AppendOnly: AppendAlways})
	do(t, s, "SET", "key", "value")
	for _, frozen := range []bool{false, true} {
		pid := s.PID()
		if frozen {
			if err := s.Freeze(); err != nil {
				t.Fatal(err)
			}
		}
		restart(t, s)
		if alive(pid) || get(t, s, "key") != "value" {
			t.Errorf("frozen %v: process %d alive: %v; key holds %q", frozen, pid, alive(pid), get(t, s, "key"))
		}
	}
}

func TestDoOnAFrozenServerEndsInTime(t *testing.T) {
	for name, cfg := range map[string]Config{"TCP": {}, "TLS": {TLS: authority(t)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, cfg)
			if err := s.Freeze(); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, err := s.Do("PING")
			if took := time.Since(began); err == nil || took > 2*doBound {
				t.Errorf("PING took %v: %v; want an error after %v", took, err, doBound)
			}
		})
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	for name, before := range map[string]func(*Server) error{
		"running": func(*Server) error { return nil },
		"frozen":  (*Server).Freeze,
		"killed":  (*Server).Kill,
		"stopped": (*Server).Stop,
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Config{AppendOnly: AppendAlways})
			pid := s.PID()
			if !exists(s.Dir()) {
				t.Fatalf("there is no directory %s", s.Dir())
			}
			if err := before(s); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if alive(pid) {
				t.Errorf("process %d was left behind", pid)
			}
			if exists(s.files.root) {
				t.Errorf("the directory %s was left behind", s.files.root)
			}
			if !strings.Contains(s.Log(), "Ready to accept connections") {
				t.Errorf("the log is lost: %q", s.Log())
			}
			if err := s.Restart(background(t), true); !errors.Is(err, ErrClosed) {
				t.Errorf("Restart after Close: %v; want %v", err, ErrClosed)
			}
		})
	}
}

func TestConcurrentCallsTakeTurns(t *testing.T) {
	s := start(t, Config{})
	ctx := background(t)
	var wg sync.WaitGroup
	for _, call := range []func() error{
		s.Kill, s.Stop, s.Freeze, s.Thaw,
		func() error { return s.Restart(ctx, false) },
		func() error { return s.Restart(ctx, true) },
	} {
		wg.Go(func() {
			for range 3 {
				if err := call(); err != nil && !errors.Is(err, ErrNotRunning) {
					t.Error(err)
				}
				_, _ = s.PID(), s.Log()
			}
		})
	}
	wg.Wait()
	restart(t, s)
	// It notices a crash, too.
	if _, err := s.Do("SHUTDOWN", "NOSAVE"); err == nil {
		t.Error("SHUTDOWN was answered")
	}
	rig.Eventually(t, "PID() is 0", func() bool { return s.PID() == 0 })
	restart(t, s)
}
