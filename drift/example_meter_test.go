package drift_test

import (
	"fmt"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// Each reply of a master that carries TIME is a reading. A round trip of 4 ms
// leaves 2 ms of doubt either way.
func ExampleMeter() {
	clock := drift.NewFake(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) // in earnest: drift.System()
	meter := drift.NewMeter(drift.Default)
	ask := func(ahead time.Duration) {
		r := drift.Reading{Sent: clock.Now()}
		clock.Advance(2 * time.Millisecond)
		r.Time = clock.Now().Wall().Add(ahead) // what TIME answers
		clock.Advance(2 * time.Millisecond)
		r.Received = clock.Now()

		deviation, err := meter.Add(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		offset, _ := meter.Offset()
		fmt.Println("offset:", offset)
		if deviation != nil {
			fmt.Println(deviation)
		}
	}
	ask(0)
	clock.Advance(10 * time.Second)
	ask(time.Minute)
	// Output:
	// offset: 500ns ± 2ms
	// offset: 1m0s ± 2ms
	// stepped forward by 1m0s ± 4ms within 10.008s (102.08ms allowed)
}
