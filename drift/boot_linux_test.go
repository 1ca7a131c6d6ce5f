package drift

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// /proc/uptime is the kernel's boot time in hundredths of a second, rounded
// down, with the time asleep: an independent reading of the same clock.
func TestBootTimeIsTheKernelsUptime(t *testing.T) {
	uptime := func() time.Duration {
		t.Helper()
		text, err := os.ReadFile("/proc/uptime")
		if err != nil {
			t.Fatal(err)
		}
		field, _, _ := strings.Cut(string(text), " ")
		seconds, fraction, _ := strings.Cut(field, ".")
		hundredths, err := strconv.ParseInt(seconds+fraction, 10, 64)
		if err != nil || len(fraction) != 2 {
			t.Fatalf("/proc/uptime is %q: %v", text, err)
		}
		return time.Duration(hundredths) * 10 * time.Millisecond
	}
	before := uptime()
	i := System().Now()
	after := uptime() + 10*time.Millisecond
	if i.flags&hasBoot == 0 {
		t.Fatal("System reads no boot time")
	}
	if got := time.Duration(i.boot); got < before || got > after {
		t.Errorf("boot time is %v, uptime was between %v and %v", got, before, after)
	}
}
