package redlock_test

import (
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// longestRoad is the most functions of ours from Lock to a master's queue, both included.
const longestRoad = 9

// ARCHITECTURE.md names each function on the way to a master's queue. The test reads them from the
// stacks at which the queues allocate as they grow, including inlined functions.
func TestTheRoadsOfALockAreThoseInTheArchitecture(t *testing.T) {
	text, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	said := make(map[string]string)
	for _, road := range regexp.MustCompile(`(?m)^    (\w+\.\w+)( → \w+\.\w+)+$`).FindAllStringSubmatch(string(text), -1) {
		said[road[1]] = strings.TrimSpace(road[0])
	}
	rate := runtime.MemProfileRate
	t.Cleanup(func() { runtime.MemProfileRate = rate })
	runtime.MemProfileRate = 1
	found := make(map[string]string)
	for calls := 32; len(found) < 3 && calls <= 1024; calls *= 2 {
		inSim(t, 3, func(t *testing.T, s *sim) { lockAtOnce(t, s, calls) })
		found = roads()
	}
	for _, from := range []string{"Client.Lock", "Client.TryLock", "Lock.Unlock"} {
		if found[from] != said[from] {
			t.Errorf("the road from %s:\n%s\nARCHITECTURE.md says:\n%s", from, found[from], said[from])
		}
	}
	if n := strings.Count(found["Client.Lock"], "→") + 1; n > longestRoad {
		t.Errorf("%d calls from Lock to a master's queue: want at most %d", n, longestRoad)
	}
}

func lockAtOnce(t *testing.T, s *sim, calls int) {
	c := s.open()
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			lock := c.Lock
			if i%2 == 0 {
				lock = c.TryLock
			}
			l, err := lock(t.Context(), strconv.Itoa(i))
			if err == nil {
				err = l.Unlock(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// roads returns the functions from lockAtOnce to a master's queue, by the first of them.
func roads() map[string]string {
	runtime.GC() // the profile is two collections old
	runtime.GC()
	var records []runtime.MemProfileRecord
	for n, ok := runtime.MemProfile(nil, true); !ok; {
		records = make([]runtime.MemProfileRecord, n+100)
		n, ok = runtime.MemProfile(records, true)
		records = records[:min(n, len(records))]
	}
	ours := regexp.MustCompile(`redquorum/(?:redlock|internal/\w+)\.\(\*(\w+)\)\.(\w+)$`)
	all := make(map[string]string)
	for _, record := range records {
		var road []string
		frames := runtime.CallersFrames(record.Stack())
		for f, more := frames.Next(); more; f, more = frames.Next() {
			if call := ours.FindStringSubmatch(f.Function); call != nil {
				road = append(road, call[1]+"."+call[2])
			} else if len(road) > 0 && road[0] == "Pipeline.Enqueue" && strings.Contains(f.Function, ".lockAtOnce.") {
				slices.Reverse(road)
				all[road[0]] = strings.Join(road, " → ")
			}
		}
	}
	return all
}
