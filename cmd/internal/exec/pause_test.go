package exec

import (
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
)

func TestAPauseThatCostTheLockIsNamed(t *testing.T) {
	t.Parallel()
	const ttl = 10 * time.Second
	for _, test := range []struct {
		name string
		move func(*drift.Fake)
		want string
	}{
		{"it ran", func(f *drift.Fake) { f.Advance(time.Second) }, ""},
		{"stopped for long", func(f *drift.Fake) { f.Advance(13200 * time.Millisecond) }, "suspended for 13 s, longer than the TTL of 10 s"},
		{"stopped, and a renewal was due", func(f *drift.Fake) { f.Advance(8 * time.Second) }, "suspended for 8 s, too long for the TTL of 10 s"},
		{"the machine slept", func(f *drift.Fake) { f.Suspend(time.Minute) }, "the machine was suspended, or its clock set forward, by 60 s, longer than the TTL of 10 s"},
		{"the clock was set", func(f *drift.Fake) { f.StepWall(7 * time.Second) }, "the machine was suspended, or its clock set forward, by 7 s, too long for the TTL of 10 s"},
	} {
		clock := drift.NewFake(time.Now())
		w := newPauseWatch(clock)
		clock.Advance(time.Minute)
		w.forget() // this one was before the lock was held
		clock.Advance(100 * time.Millisecond)
		w.look()
		test.move(clock)
		w.look()
		clock.Advance(100 * time.Millisecond)
		if got := w.look().cost(ttl); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
