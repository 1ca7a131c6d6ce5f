package deliver

import (
	"context"
	"log/slog"
)

// Warnings returns a logger that passes warnings and errors to slog.Default(), if that accepts
// them. It gets the default again for each record: a client in a package's variable is older than
// the logger that main sets.
func Warnings() *slog.Logger {
	return slog.New(warnings{func(h slog.Handler) slog.Handler { return h }})
}

// warnings is a slog.Handler. with adds what WithAttrs and WithGroup were given.
type warnings struct {
	with func(slog.Handler) slog.Handler
}

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && slog.Default().Handler().Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (w warnings) Handle(ctx context.Context, r slog.Record) error {
	return w.with(slog.Default().Handler()).Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{func(h slog.Handler) slog.Handler { return w.with(h).WithAttrs(attrs) }}
}

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(name string) slog.Handler {
	return warnings{func(h slog.Handler) slog.Handler { return w.with(h).WithGroup(name) }}
}
