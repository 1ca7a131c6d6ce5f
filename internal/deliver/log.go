package deliver

import (
	"context"
	"log/slog"
	"runtime"
	"time"
)

// logger is where log lines go. Its Enabled is code of users too, so a goroutine whose timing
// matters does not call it.
type logger struct{ to *slog.Logger }

// New makes a Deliverer whose log lines go to a logger. Its goroutine starts with the first
// entry. Close it.
func New(to *slog.Logger) *Deliverer {
	return &Deliverer{log: logger{to}, idle: make(chan struct{}, 1)}
}

// LogsTo reports whether log lines go to this very logger.
func (d *Deliverer) LogsTo(to *slog.Logger) bool { return d.log.to == to }

// Debug queues a log line. Its time is now, whenever it is written.
func (d *Deliverer) Debug(text string, args ...any) { d.line(slog.LevelDebug, text, args) }

// Info is Debug at another level.
func (d *Deliverer) Info(text string, args ...any) { d.line(slog.LevelInfo, text, args) }

// Warn is Debug at another level.
func (d *Deliverer) Warn(text string, args ...any) { d.line(slog.LevelWarn, text, args) }

func (d *Deliverer) line(level slog.Level, text string, args []any) {
	if d == nil {
		return
	}
	r := newRecord(4, time.Now(), level, text, args)
	d.Put(func() { d.log.handle(r) })
}

// Line writes a log line at once, for an event that happened at this time. The caller is a queued
// function, or may wait for users' code in another way.
func (d *Deliverer) Line(at time.Time, level slog.Level, text string, args ...any) {
	d.log.handle(newRecord(3, at, level, text, args))
}

// newRecord makes a record. Its source is the caller that runtime.Callers finds with skip.
func newRecord(skip int, at time.Time, level slog.Level, text string, args []any) slog.Record {
	var caller [1]uintptr
	runtime.Callers(skip, caller[:])
	r := slog.NewRecord(at, level, text, caller[0])
	r.Add(args...)
	return r
}

func (l logger) handle(r slog.Record) {
	if h := l.to.Handler(); h.Enabled(context.Background(), r.Level) {
		_ = h.Handle(context.Background(), r) // slog drops this error too
	}
}

// logDropping logs that entries are dropped. It is queued once, when that begins.
func (d *Deliverer) logDropping() {
	d.Line(time.Now(), slog.LevelWarn,
		"log lines and trace events are dropped: a log handler or a trace is slow or blocks", "dropped", d.Dropped())
}
