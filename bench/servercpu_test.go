package bench

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
)

// serverCPU is the processor time that all masters together have used, in user and kernel
// mode, as INFO reports it: from getrusage, in microseconds. /proc/PID/stat only counts
// hundredths of a second. INFO costs each master about as much as a few pairs. Child
// processes do not count: these masters write no snapshots and have none.
func serverCPU(tb testing.TB, c *redistest.Cluster) time.Duration {
	tb.Helper()
	var sum time.Duration
	for _, m := range c.Masters {
		for _, name := range []string{"used_cpu_user:", "used_cpu_sys:"} {
			seconds, ok := infoNumber(tb, m, "cpu", name)
			if !ok {
				tb.Fatalf("%s: INFO cpu has no %s", m.Addr(), name)
			}
			sum += time.Duration(math.Round(seconds * float64(time.Second)))
		}
	}
	return sum
}

// infoNumber is the number after name at the start of a line in a section of INFO. ok is
// false if there is no such line.
func infoNumber(tb testing.TB, m *redistest.Server, section, name string) (n float64, ok bool) {
	tb.Helper()
	info, err := redis.String(m.Do("INFO", section))
	if err != nil {
		tb.Fatal(err)
	}
	_, after, ok := strings.Cut(info, "\r\n"+name)
	if !ok {
		return 0, false
	}
	if _, err := fmt.Sscan(after, &n); err != nil {
		tb.Fatalf("%s: INFO %s: %s %.20q: want a number", m.Addr(), section, name, after)
	}
	return n, true
}
