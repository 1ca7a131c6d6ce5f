package integration

import (
	"syscall"
	"testing"
	"time"
)

// processorTime is what this process has used so far, on all processors.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A standstillMeter finds out for how long this process was given no processor.
type standstillMeter struct {
	over    chan struct{}
	longest chan time.Duration
}

// meterStandstills measures until stop.
func meterStandstills() *standstillMeter {
	m := &standstillMeter{over: make(chan struct{}), longest: make(chan time.Duration)}
	go func() {
		const every = 2 * time.Millisecond
		tick := time.NewTicker(every)
		defer tick.Stop()
		longest, last := time.Duration(0), time.Now()
		for {
			select {
			case <-tick.C:
			case <-m.over:
				m.longest <- longest
				return
			}
			longest, last = max(longest, time.Since(last)-every), time.Now()
		}
	}()
	return m
}

// stop returns the longest standstill.
func (m *standstillMeter) stop() time.Duration {
	close(m.over)
	return <-m.longest
}
