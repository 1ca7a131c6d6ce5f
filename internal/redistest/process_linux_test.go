package redistest

import (
	"os"
	"testing"
)

func TestThreadState(t *testing.T) {
	for stat, want := range map[string]byte{
		"12 (redis-server) T 1 12 12 0":    'T',
		"12 (a) R b) S 1 12 12 0":          'S',
		"12 (redis server) Z 1 12":         'Z',
		"":                                 0,
		"12 (redis-server)":                0,
		"12 (redis-server) ":               0,
		"12 redis-server without its name": 'r', // not what the kernel writes
	} {
		if got := threadState([]byte(stat)); got != want {
			t.Errorf("state in %q is %q; want %q", stat, got, want)
		}
	}
}

func TestARunningOrAbsentProcessIsNotSuspended(t *testing.T) {
	for _, pid := range []int{os.Getpid(), 1 << 30} {
		if got, err := suspended(pid); got || err != nil {
			t.Errorf("suspended(%d) = %v, %v", pid, got, err)
		}
	}
}
