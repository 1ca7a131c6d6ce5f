package redistest

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// maxOffset keeps a server's clock within what Redis and Go can represent.
const maxOffset = 10 * 365 * 24 * time.Hour

// SetClock moves the server's wall clock. From now on it shows this machine's time plus offset,
// which may be negative, ten years at most either way; 0 sets it right. TIME, the expiry of keys,
// INFO and the log use this clock, timers do not. The server may be down or frozen; the offset
// stays over Restart. SetClock needs Config.MovableClock, and does not block. After Close the
// error is ErrClosed.
//
// Redis expires keys also when nobody reads them. So a step forward soon deletes the keys that are
// due by then, even if the clock is set back at once.
func (s *Server) SetClock(offset time.Duration) error {
	if s.clock == nil {
		return fmt.Errorf("redistest: set the clock of %s: it needs Config.MovableClock", s.Addr())
	}
	if offset < -maxOffset || offset > maxOffset {
		return fmt.Errorf("redistest: offset of the clock is %v; accepted: %v to %v", offset, -maxOffset, maxOffset)
	}
	return s.clock.set(offset, 0)
}

// HoldClock stops the server's wall clock at an instant of the years 1971 to 2199, until HoldClock
// sets another or SetClock lets it run again. So commands are executed at an instant that the
// test knows exactly. In all else it is like SetClock.
func (s *Server) HoldClock(at time.Time) error {
	if s.clock == nil {
		return fmt.Errorf("redistest: hold the clock of %s: it needs Config.MovableClock", s.Addr())
	}
	if y := at.UTC().Year(); y <= 1970 || y >= 2200 {
		return fmt.Errorf("redistest: the clock is to stand still at %v; accepted: the years 1971 to 2199", at)
	}
	return s.clock.set(0, at.UnixNano())
}

// ClockAvailable returns nil if servers with Config.MovableClock can be launched, else the reason.
// It compiles the shim that they need, once a process, with the compiler that CC names, or cc. That
// takes at most a minute.
func ClockAvailable() error {
	_, err := compiledShim()
	return err
}

// compiledShim compiles once a process and keeps the result in memory, so that no file has to be
// removed at the end.
var compiledShim = sync.OnceValues(compileShim)

// A clock has the page of memory that moves a server's clock. All its methods except set may be
// called on nil, which is a clock that cannot be moved.
type clock struct {
	files layout
	mu    sync.Mutex // guards page against being unmapped while it is used
	page  *clockPage // nil once closed
	unmap func() error
}

// clockPage is what shim/clock.c maps.
type clockPage struct {
	offset atomic.Int64 // in nanoseconds
	pid    atomic.Int64 // of the process that has loaded the shim last
	held   atomic.Int64 // in nanoseconds since 1970; 0: it runs
}

// The files of a clock.
const shimFile, pageFile = "clock.so", "clock"

// newClock writes the shim, and maps a page of zeros.
func newClock(files layout) (*clock, error) {
	shim, err := compiledShim()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(files.file(shimFile), shim, 0o700); err != nil {
		return nil, fmt.Errorf("redistest: clock shim: %w", err)
	}
	c := &clock{files: files}
	if c.page, c.unmap, err = mapPage(files.file(pageFile)); err != nil {
		return nil, fmt.Errorf("redistest: page of the clock: %w", err)
	}
	return c, nil
}

// env returns what the server's environment needs.
func (c *clock) env() []string {
	if c == nil {
		return nil
	}
	preload := c.files.file(shimFile)
	if others := os.Getenv("LD_PRELOAD"); others != "" {
		preload += ":" + others
	}
	return []string{"LD_PRELOAD=" + preload, "REDISTEST_CLOCK=" + c.files.file(pageFile)}
}

// loadedBy returns an error unless the process has loaded the shim. If the dynamic loader cannot
// load it, that only writes a line to the log.
func (c *clock) loadedBy(pid int) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.page == nil {
		return ErrClosed
	}
	if c.page.pid.Load() != int64(pid) {
		return errors.New("its clock cannot be moved, since it has not loaded the shim (statically linked, perhaps)")
	}
	return nil
}

// set makes the clock run with an offset, or stand still at held, if that is not 0.
func (c *clock) set(offset time.Duration, held int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.page == nil {
		return ErrClosed
	}
	if held == 0 { // else the clock would jump before it stands still
		c.page.offset.Store(int64(offset))
	}
	c.page.held.Store(held)
	return nil
}

// close is idempotent.
func (c *clock) close() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.page == nil {
		return nil
	}
	c.page = nil
	return c.unmap()
}
