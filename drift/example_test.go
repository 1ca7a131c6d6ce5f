package drift_test

import (
	"fmt"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// How long a lock may be relied upon: the attempt's start is read before the
// first byte is sent, and the clock is asked again whenever it matters.
func Example() {
	clock := drift.NewFake(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) // in earnest: drift.System()
	const ttl = 10 * time.Second

	start := clock.Now()
	clock.Advance(8 * time.Millisecond) // a quorum of masters answers
	fmt.Println("taken:", drift.Default.Validity(ttl, clock.Now().Sub(start)))

	clock.Suspend(time.Minute) // the laptop is closed
	fmt.Println("awake:", drift.Default.Validity(ttl, clock.Now().Sub(start)))
	// Output:
	// taken: 9.89s
	// awake: -50.11s
}

func ExamplePolicy_Allowance() {
	for _, ttl := range []time.Duration{20 * time.Millisecond, time.Second, 10 * time.Second, time.Hour} {
		fmt.Println(ttl, drift.Default.Allowance(ttl))
	}
	// Output:
	// 20ms 2.2ms
	// 1s 12ms
	// 10s 102ms
	// 1h0m0s 36.002s
}

func ExamplePolicy_Validate() {
	fmt.Println(drift.Policy{Factor: 1}.Validate())
	fmt.Println(drift.Policy{Factor: 0.02, Floor: -time.Second}.Validate())
	fmt.Println(drift.Policy{Factor: 0.02, Floor: 5 * time.Millisecond}.Validate())
	// Output:
	// drift: Policy.Factor is 1, want a number in [0, 0.5]
	// drift: Policy.Floor is -1s, want a duration in [0s, 1m0s]
	// <nil>
}

func ExampleInstant_Sub() {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	start := drift.At(0, 0, noon)

	// A second later someone sets the wall clock back by an hour.
	fmt.Println(drift.At(time.Second, time.Second, noon.Add(time.Second-time.Hour)).Sub(start))
	// Or the machine slept for ten minutes.
	fmt.Println(drift.At(time.Second, 10*time.Minute, noon.Add(10*time.Minute)).Sub(start))
	// Or a virtual machine was paused, and its wall clock then set right.
	fmt.Println(drift.At(time.Second, time.Second, noon.Add(5*time.Minute)).Sub(start))
	// Output:
	// 1s
	// 10m0s
	// 5m0s
}
