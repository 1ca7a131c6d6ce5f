package observe

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/say"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/group"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/inpool"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/voters"
	"github.com/redquorum/redquorum/pool"
)

// A Look is what the masters of a fleet have said of themselves at about one instant, and what a client would conclude.
type Look struct {
	*voters.Look
	// Config is by what they are judged: the settings of most markers, and of the flags, where they are given. Asked is
	// those of a command with these flags.
	Config, Asked guard.Config
	// Refuses is why a master takes no write of a lock, whoever asks; nil: it takes it, or does not vote anyway.
	Refuses []error
}

// IsUp reports whether master i answers.
func (l *Look) IsUp(i int) bool {
	why := l.Standings[i].Why
	return why == nil || why.Cause != guard.NotConnected
}

// writeBound is how long a master has to take a write, as long as clients wait, and longer.
const writeBound = 500 * time.Millisecond

// Look asks all masters that can be reached, for about ConnectBound at the most. On a master without a marker it notes
// since when that is so, and writes nothing else.
func (f *Fleet) Look(ctx context.Context) *Look {
	if f.monitor == nil {
		f.judgedBy = f.settings(guard.Config{})
		f.monitor = voters.New(voters.Config{
			Group: &group.Group{
				Masters: inpool.Pipelines(f.Pool), Need: quorum.Need(len(f.Lines)),
				Clock: drift.Cumulative(drift.System()), Life: context.Background(),
			},
			Guard: f.judgedBy, Logger: slog.New(slog.DiscardHandler), ReadOnly: true,
		})
	}
	l := &Look{Look: f.ask(ctx), Asked: f.settings(guard.Config{})}
	fleet, _ := l.Fleet()
	if l.Config = f.settings(fleet); l.Config != f.judgedBy {
		f.judgedBy = l.Config
		f.monitor.Use(l.Config)
		l.Look = f.ask(ctx)
	}
	l.Refuses = make([]error, len(f.Lines))
	Each(f.Lines, func(i int, m *Master) {
		switch why := l.Standings[i].Why; {
		case why == nil || why.Cause == guard.NoMarker:
			l.Refuses[i] = m.refuses(ctx)
		case why.Cause == guard.Unmarked:
			l.Refuses[i] = say.ScriptRefused(why.Err)
		}
	})
	return l
}

// Verdict says whether a lock can be taken now.
func (f *Fleet) Verdict(ctx context.Context) *Verdict { return f.Look(ctx).Verdict() }

func (f *Fleet) ask(ctx context.Context) *voters.Look {
	ctx, cancel := context.WithTimeout(ctx, app.ConnectBound)
	defer cancel()
	return f.monitor.Look(ctx)
}

// settings is what a client has that is given these masters and flags, and for the rest goes by the markers.
func (f *Fleet) settings(markers guard.Config) guard.Config {
	return ConfigOf(markers, len(f.Lines), f.maxTTL, f.skew)
}

// ConfigOf is the settings of a client, by what most markers say, and by its flags, 0 where they are not given.
func ConfigOf(markers guard.Config, masters int, maxTTL, skew time.Duration) guard.Config {
	return guard.Config{
		Level: max(guard.Standard, markers.Level), MaxTTL: cmp.Or(maxTTL, markers.MaxTTL, app.DefaultMaxTTL),
		Masters: masters, ClientSkew: skew, Drift: drift.Default,
	}
}

// LevelOf is the level of a fleet that --guard names.
func LevelOf(flag string) guard.Level {
	if flag == guard.Strict.String() {
		return guard.Strict
	}
	return guard.Standard
}

// Fleet is the settings that most markers name, the first of those in doubt; false: none names any.
func (l *Look) Fleet() (fleet guard.Config, found bool) {
	votes := map[guard.Config]int{}
	for i := range l.Facts {
		m := l.Facts[i].Marker
		if c, ok := m.Config(); ok && m.Verdict != guard.Created { // which is not there yet
			votes[c]++
		}
	}
	for i := range l.Facts {
		if c, _ := l.Facts[i].Marker.Config(); votes[c] > votes[fleet] {
			fleet, found = c, true
		}
	}
	return fleet, found
}

// Settings is what a marker says of its fleet, for people.
func Settings(m guard.Fields) string {
	if c, ok := m.Config(); ok {
		return c.String()
	}
	return m.Settings()
}

// ProbeKey is what the guard's probe tries commands on: a key that is never there, among those that the documented
// permissions cover.
const ProbeKey = "redquorum:intent:1:redquorum:probe"

// refuses asks for the write that a lock needs, in a form that writes nothing. The error is why the master takes it of
// nobody now: its memory is full, too few replicas are there, it cannot save, its clients are paused.
func (m *Master) refuses(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeBound)
	defer cancel()
	err := m.Do(ctx, "SET", ProbeKey, "", "XX").Err
	refused, answered := errors.AsType[redis.Error](err)
	if answered && !strings.HasPrefix(string(refused), "NOPERM") || errors.Is(err, pool.ErrTimeout) {
		return &say.WriteError{Err: err}
	}
	return nil // it takes it, or it has just gone, or the guard's own probe tells what is not permitted
}
