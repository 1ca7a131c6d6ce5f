package stage

import (
	"testing"
	"time"
)

func TestARestartKeepsTheDataAndAnEmptyingLosesIt(t *testing.T) {
	t.Parallel()
	c, err := Embedded(1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	s, err := New(Options{Cluster: c, Program: "test", TTL: time.Second}, "test:")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m := c.Masters[0].(InProcess).Sim
	if err := m.Set("k", "v", 0); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		action Action
		up     bool
		keys   int
		is     string
	}{
		{Kill, false, 1, "killed"}, {Restart, true, 1, "up"}, {Empty, true, 0, "up"}, {Restart, true, 0, "up"},
	} {
		if _, err := s.Do(t.Context(), Fault{Action: step.action}, 0); err != nil {
			t.Fatalf("%s: %v", step.action, err)
		}
		if m.Up() != step.up || step.up && len(m.Keys()) != step.keys || s.Condition(0).String() != step.is {
			t.Errorf("after %s: up %v, keys %q, %v", step.action, m.Up(), m.Keys(), s.Condition(0))
		}
	}
}
