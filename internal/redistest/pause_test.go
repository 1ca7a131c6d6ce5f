package redistest

import (
	"testing"
	"time"
)

func TestAPauseOfWritesHoldsThemUpUntilItEnds(t *testing.T) {
	s := start(t, Config{})
	const pause = 500 * time.Millisecond
	for _, early := range []bool{false, true} {
		began := time.Now()
		if err := PauseWrites(s.Do, pause); err != nil {
			t.Fatal(err)
		}
		if early {
			if err := ResumeWrites(s.Do); err != nil {
				t.Fatal(err)
			}
			began = time.Now()
		}
		do(t, s, "SET", "key", "value")
		if took := time.Since(began); (took >= pause) == early {
			t.Errorf("a pause of %v, ended early: %v; a write took %v", pause, early, took)
		}
	}
}
