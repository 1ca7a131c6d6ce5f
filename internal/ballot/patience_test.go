package ballot

import (
	"slices"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
)

func TestALateTimerDoesNotEndARound(t *testing.T) {
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		limit time.Duration
		late  []time.Duration // of the timers; 0 after the last
		steps []time.Duration
		total time.Duration
	}{
		"in time":                 {120 * ms, nil, []time.Duration{50 * ms, 50 * ms, 20 * ms}, 120 * ms},
		"a little late":           {50 * ms, []time.Duration{pipeline.MostLate}, []time.Duration{50 * ms}, 55 * ms},
		"late on the way":         {120 * ms, []time.Duration{30 * ms}, []time.Duration{50 * ms, 50 * ms, 20 * ms}, 150 * ms},
		"late at the end":         {50 * ms, []time.Duration{20 * ms}, []time.Duration{50 * ms, 20 * ms}, 90 * ms},
		"late at the end twice":   {80 * ms, []time.Duration{0, 20 * ms, 10 * ms}, []time.Duration{50 * ms, 30 * ms, 20 * ms, 10 * ms}, 140 * ms},
		"later than a step":       {250 * ms, []time.Duration{0, 0, 0, 0, 90 * ms}, []time.Duration{50 * ms, 50 * ms, 50 * ms, 50 * ms, 50 * ms, 50 * ms}, 390 * ms},
		"twice the limit at most": {50 * ms, []time.Duration{40 * ms, 40 * ms}, []time.Duration{50 * ms, 10 * ms}, 140 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			now := began
			var p patience
			var steps []time.Duration
			for step := p.begin(now, test.limit); step > 0; step = p.next(now) {
				if steps = append(steps, step); len(steps) > 20 {
					t.Fatalf("it does not end: %v", steps)
				}
				now = now.Add(step)
				if n := len(steps); n <= len(test.late) {
					now = now.Add(test.late[n-1])
				}
			}
			if !slices.Equal(steps, test.steps) || now.Sub(began) != test.total {
				t.Errorf("steps %v, %v in all; want %v, %v", steps, now.Sub(began), test.steps, test.total)
			}
		})
	}
}
