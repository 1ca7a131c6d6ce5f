package deliver

import (
	"context"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A handler records what it has to write. If block is set, Enabled blocks until block is closed.
type handler struct {
	block   chan struct{} // nil: Enabled does not block
	asked   int           // calls of Enabled
	records []slog.Record
}

func (h *handler) Enabled(_ context.Context, level slog.Level) bool {
	if h.block != nil {
		<-h.block
	}
	h.asked++
	return level >= slog.LevelInfo
}

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	h.records = append(h.records, r)
	return nil
}

func (h *handler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h *handler) WithGroup(string) slog.Handler      { return h }

// inBubble runs a test with a Deliverer whose lines go to a handler.
func inBubble(t *testing.T, test func(t *testing.T, d *Deliverer, h *handler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &handler{}
		d := New(slog.New(h))
		test(t, d, h)
		d.Close()
	})
}

func TestEntriesAreCalledInTheOrderInWhichTheyWereQueued(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Deliverer, _ *handler) {
		var called []int
		for i := range 3 * most { // the queue grows and moves meanwhile
			call := func() { called = append(called, i) }
			if i%2 == 0 {
				d.Always(call)
			} else {
				d.Put(call)
			}
			if i%1000 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		if len(called) != 3*most || !slices.IsSorted(called) || d.Dropped() != 0 {
			t.Errorf("%d told, in order: %v; %d dropped", len(called), slices.IsSorted(called), d.Dropped())
		}
	})
}

func TestPutDropsAndCountsWhenFullAndAlwaysDoesNot(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Deliverer, h *handler) {
		release, called, losses := make(chan struct{}), 0, 0
		d.Put(func() { <-release })
		synctest.Wait() // that one is not waiting any more
		for range most + 10 {
			d.Put(func() { called++ })
			d.Always(func() { losses++ })
		}
		close(release)
		synctest.Wait()
		if called != most || losses != most+10 || d.Dropped() != 10 {
			t.Errorf("%d told and %d losses, %d dropped", called, losses, d.Dropped())
		}
		if len(h.records) != 1 || h.records[0].Level != slog.LevelWarn {
			t.Errorf("%d lines say so, want one: %v", len(h.records), h.records)
		}
	})
}

func TestALineIsMadeWhenItHappensAndTheHandlerIsAskedLater(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Deliverer, h *handler) {
		h.block = make(chan struct{})
		began := time.Now()
		d.Warn("first", "key", 1)
		_, file, line, _ := runtime.Caller(0)
		time.Sleep(time.Minute)
		d.Info("second")
		d.Debug("third")
		close(h.block)
		synctest.Wait()
		if len(h.records) != 2 || h.asked != 3 {
			t.Fatalf("%d lines, asked %d times: want 2 and 3, one of them too low", len(h.records), h.asked)
		}
		first := h.records[0]
		if !first.Time.Equal(began) || !h.records[1].Time.Equal(began.Add(time.Minute)) {
			t.Errorf("at %v and %v", first.Time, h.records[1].Time)
		}
		if s := first.Source(); filepath.Base(s.File) != filepath.Base(file) || s.Line != line-1 {
			t.Errorf("its source is %v", s)
		}
		first.Attrs(func(a slog.Attr) bool {
			if a.String() != "key=1" {
				t.Errorf("attribute %v", a)
			}
			return true
		})
	})
}

func TestCloseCallsQueuedEntriesAndDoesNotWaitForABlockedOne(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Deliverer, _ *handler) {
		called := 0
		d.Put(func() { time.Sleep(closeWait / 2); called++ })
		d.Put(func() { called++ })
		d.Close()
		if called != 2 || d.Dropped() != 0 {
			t.Errorf("%d told before Close returned, %d dropped", called, d.Dropped())
		}
	})
	inBubble(t, func(t *testing.T, d *Deliverer, _ *handler) {
		release, called := make(chan struct{}), 0
		d.Put(func() { <-release })
		d.Put(func() { called++ })
		began := time.Now()
		d.Close()
		if took := time.Since(began); took != closeWait {
			t.Errorf("Close took %v", took)
		}
		d.Always(func() { called++ })
		close(release)
		synctest.Wait()
		if called != 0 || d.Dropped() != 2 {
			t.Errorf("%d told after Close, %d dropped", called, d.Dropped())
		}
	})
}

func TestCloseMayBeCalledByAnEntry(t *testing.T) {
	inBubble(t, func(t *testing.T, d *Deliverer, _ *handler) {
		ended := false
		d.Put(func() { d.Close(); ended = true })
		time.Sleep(closeWait)
		synctest.Wait()
		if !ended {
			t.Error("Close has not returned")
		}
	})
}
