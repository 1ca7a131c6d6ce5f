package redistest

import (
	"errors"
	"strings"
	"testing"
)

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
