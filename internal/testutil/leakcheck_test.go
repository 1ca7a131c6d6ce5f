package testutil

import (
	"strings"
	"testing"
	"time"
)

func TestAGoroutineThatOutlivesTheTestsFailsThem(t *testing.T) {
	stay := make(chan struct{})
	defer close(stay)
	for name, test := range map[string]struct {
		tests func() int
		want  int
	}{
		"nothing left":               {func() int { return 0 }, 0},
		"tests that failed":          {func() int { return 2 }, 2},
		"one that is on its way out": {func() int { go time.Sleep(10 * time.Millisecond); return 0 }, 0},
		"one that stays":             {func() int { go func() { <-stay }(); return 0 }, 1},
	} {
		if got := RunClean(test.tests, time.Second); got != test.want {
			t.Errorf("%s: exit code %d, want %d", name, got, test.want)
		}
	}
}

func TestGoroutinesAreFoundByWhatTheyRun(t *testing.T) {
	stay, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		<-stay
	}()
	const frame = "testutil.TestGoroutinesAreFoundByWhatTheyRun"
	if found := Goroutines(frame); len(found) != 1 || !strings.Contains(found[0], frame) {
		t.Errorf("found %q", found)
	}
	if err := LeakCheck(20*time.Millisecond, frame); err == nil || !strings.HasPrefix(err.Error(), "1 goroutines:\n") {
		t.Errorf("error %v", err)
	}
	close(stay)
	<-done
	if err := LeakCheck(time.Second, frame); err != nil {
		t.Error(err)
	}
}
