package bench

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
)

// serverCPU is the processor time that the masters have used, in user and kernel
// mode, all together. They are asked for it: what Redis says comes from getrusage
// and counts microseconds, /proc/PID/stat counts hundredths of a second. Asking
// costs each about as much as a few pairs do.
func serverCPU(tb testing.TB, c *redistest.Cluster) time.Duration {
	tb.Helper()
	var sum time.Duration
	for _, m := range c.Masters {
		info, err := redis.String(m.Do("INFO", "cpu"))
		if err != nil {
			tb.Fatal(err)
		}
		used, err := parseCPU(info)
		if err != nil {
			tb.Fatalf("%s: %v", m.Addr(), err)
		}
		sum += used
	}
	return sum
}

// parseCPU reads INFO cpu. Child processes (used_cpu_…_children) are left out:
// these masters write no snapshots and have none.
func parseCPU(info string) (time.Duration, error) {
	values := make(map[string]string)
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		values[name] = value
	}
	var sum time.Duration
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		value, ok := values[name]
		if !ok {
			return 0, fmt.Errorf("INFO cpu has no %s", name)
		}
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("INFO cpu: %s is %q: want a number of seconds", name, value)
		}
		sum += time.Duration(math.Round(seconds * float64(time.Second)))
	}
	return sum, nil
}

func TestParseCPU(t *testing.T) {
	const info = "# CPU\r\nused_cpu_sys:0.250001\r\nused_cpu_user:1.500000\r\n" +
		"used_cpu_sys_children:7.0\r\nused_cpu_user_children:9.0\r\nused_cpu_sys_main_thread:0.2\r\n"
	got, err := parseCPU(info)
	if want := 1750001 * time.Microsecond; got != want || err != nil {
		t.Errorf("%v, %v: want %v", got, err, want)
	}
	for _, bad := range []string{
		"",
		"used_cpu_sys:1.0\r\n",
		"used_cpu_user:1.0\r\nused_cpu_sys:?\r\n",
	} {
		if got, err := parseCPU(bad); err == nil {
			t.Errorf("%q: %v: want an error", bad, got)
		}
	}
}

func TestTheMastersTellTheirProcessorTime(t *testing.T) {
	c := redistest.Start(t, 2, redistest.Config{})
	before := serverCPU(t, c)
	if before <= 0 {
		t.Fatalf("%v after the start of two processes", before)
	}
	// A millisecond or so of work for one of them.
	if _, err := c.Masters[1].Do("EVAL", "for i = 1, 1000000 do local x = i end return 1", 0); err != nil {
		t.Fatal(err)
	}
	if after := serverCPU(t, c); after <= before {
		t.Errorf("%v, then %v: want more", before, after)
	}
}
