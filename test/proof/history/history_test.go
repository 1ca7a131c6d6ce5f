package history

import (
	"os"
	"strings"
	"testing"
	"time"
)

// at makes a hold of key k that is asked for and granted at from, and is valid until until.
func at(client string, from, until time.Duration, change ...func(*Hold)) *Hold {
	h := &Hold{Client: client, Op: "Lock", Keys: []string{"k"}, Token: client + from.String(), Asked: from, Granted: from, Until: until}
	for _, f := range change {
		f(h)
	}
	return h
}

func shared(h *Hold) { h.Shared = true }

func fence(n uint64) func(*Hold) { return func(h *Hold) { h.Fence = n } }

func ended(d time.Duration) func(*Hold) {
	return func(h *Hold) { h.Ended, h.Released = d, d }
}

func TestChecks(t *testing.T) {
	for _, c := range []struct {
		name string
		h    History
		want string // part of a violation; "": none
	}{
		{"one after the other", History{at("a", 0, 10), at("b", 10, 20)}, ""},
		{"two at once", History{at("a", 0, 10), at("b", 9, 20)}, Overlap},
		{"given back before the other began", History{at("a", 0, 10, ended(5)), at("b", 5, 20)}, ""},
		{"given back after the other began", History{at("a", 0, 10, ended(6)), at("b", 5, 20)}, Overlap},
		{"an earlier one that lasts is not forgotten", History{at("a", 0, 100), at("b", 200, 300), at("c", 50, 60)}, Overlap},
		{"other keys", History{at("a", 0, 10), at("b", 5, 20, func(h *Hold) { h.Keys = []string{"l"} })}, ""},
		{"sets that share a key", History{at("a", 0, 10), at("b", 5, 20, func(h *Hold) { h.Keys = []string{"j", "k"} })}, Overlap},
		{"readers", History{at("a", 0, 10, shared), at("b", 5, 20, shared)}, ""},
		{"a reader and a writer", History{at("a", 0, 10, shared), at("b", 5, 20)}, Overlap},
		{"handed on", History{at("a", 0, 10), at("b", 5, 20, func(h *Hold) { h.Token = "a0s" })}, ""},
		{"over when it was granted", History{at("a", 0, 20), at("b", 5, 5)}, ""},
		{"fences rise", History{at("a", 0, 10, fence(1)), at("b", 10, 20, fence(2))}, ""},
		{"fences fall", History{at("a", 0, 10, fence(2)), at("b", 10, 20, fence(1))}, Fence},
		{"one fence twice", History{at("a", 0, 10, fence(2)), at("b", 10, 20, fence(2))}, Fence},
		{"readers share a fence", History{at("a", 0, 10, fence(2)), at("b", 10, 20, fence(2), shared), at("c", 11, 20, fence(2), shared)}, ""},
		{"a reader's fence falls", History{at("a", 0, 10, fence(2)), at("b", 10, 20, fence(1), shared)}, Fence},
		{"asked for at the same time, fences fall", History{
			at("a", 0, 5, fence(2)), at("b", 10, 20, fence(1), func(h *Hold) { h.Asked = 0 }),
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []string
			for _, v := range c.h.Check() {
				all = append(all, v.String())
			}
			found := strings.Join(all, "; ")
			if (c.want == "") != (found == "") || !strings.Contains(found, c.want) {
				t.Errorf("found %q: want %q", found, c.want)
			}
			// porcupine's model has no fencing tokens.
			if c.want == Fence {
				return
			}
			illegal := c.h.Linearizable(time.Second)
			if (c.want == Overlap) != (len(illegal) > 0) {
				t.Errorf("porcupine found %v: want %q", illegal, c.want)
			}
			removePictures(t, illegal)
		})
	}
}

func TestPermits(t *testing.T) {
	slot := func(key string) func(*Hold) { return func(h *Hold) { h.Keys = []string{key} } }
	h := History{at("a", 0, 10, slot("s1")), at("b", 5, 15, slot("s2")), at("c", 9, 20, slot("s3"))}
	if v := h.CheckPermits([]string{"s1", "s2", "s3"}, 3); len(v) != 0 {
		t.Error(v)
	}
	if v := h.CheckPermits([]string{"s1", "s2", "s3"}, 2); len(v) != 1 || v[0].Kind != Permits {
		t.Errorf("%v: want one violation", v)
	}
}

// removePictures removes the files of expected violations.
func removePictures(t *testing.T, found []Violation) {
	t.Helper()
	for _, v := range found {
		content, err := os.ReadFile(v.File)
		if err != nil || len(content) < 1000 {
			t.Errorf("%s: %d bytes, %v", v.File, len(content), err)
		}
		_ = os.Remove(v.File)
	}
}
