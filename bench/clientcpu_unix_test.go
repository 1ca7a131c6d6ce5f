//go:build unix

package bench

import (
	"syscall"
	"testing"
	"time"
)

// clientCPU is the processor time that this process has used, in user and kernel mode.
// The masters are other processes and do not count.
func clientCPU(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatalf("getrusage: %v", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
