package observe

import (
	"cmp"
	"context"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/seam"
	"github.com/redquorum/redquorum/internal/voters"
)

// A Look is what masters said about themselves at about one instant, and what a client concludes.
type Look struct {
	*voters.Look
	// Config is the settings by which they are judged: from the flags, or else of most markers.
	Config guard.Config
	// Refuses is why a master refuses every write of a lock; nil: it does not, or does not vote.
	Refuses []error
}

// IsUp reports whether master i answers.
func (l *Look) IsUp(i int) bool {
	why := l.Standings[i].Why
	return why == nil || why.Cause != guard.NotConnected
}

// Look asks all masters that can be reached, at most for ConnectBound, and once more if the
// markers have other settings than assumed. On a master without a marker it notes since when
// that is so, and writes nothing else.
func (f *Fleet) Look(ctx context.Context) *Look {
	if f.monitor == nil {
		f.judgedBy = f.settings(guard.Config{})
		f.monitor = voters.New(voters.Config{
			Group: &quorum.Group{
				Masters: seam.Pipelines(f.Pool), Need: quorum.Need(len(f.Lines)),
				Clock: drift.Cumulative(drift.System()), Closing: context.Background(),
			},
			Guard: f.judgedBy, ReadOnly: true,
		})
	}
	l := &Look{Look: f.ask(ctx)}
	fleet, _ := l.Fleet()
	if l.Config = f.settings(fleet); l.Config != f.judgedBy {
		f.judgedBy = l.Config
		f.monitor.Use(l.Config)
		l.Look = f.ask(ctx)
	}
	l.Refuses = make([]error, len(f.Lines))
	for i := range l.Standings {
		switch why, err := l.Standings[i].Why, l.Facts[i].NoWrites; {
		case (why == nil || why.Cause == guard.NoMarker) && err != nil:
			l.Refuses[i] = &explain.WriteError{Err: err}
		case why != nil && why.Cause == guard.Unmarked:
			l.Refuses[i] = explain.ScriptRefused(why.Err)
		}
	}
	return l
}

// Verdict says whether a lock can be taken now.
func (f *Fleet) Verdict(ctx context.Context) *Verdict { return f.Look(ctx).Verdict() }

func (f *Fleet) ask(ctx context.Context) *voters.Look {
	ctx, cancel := context.WithTimeout(ctx, app.ConnectBound)
	defer cancel()
	return f.monitor.Look(ctx)
}

// settings returns the settings of a client with these masters, flags and markers.
func (f *Fleet) settings(markers guard.Config) guard.Config {
	return ConfigOf(markers, len(f.Lines), f.maxTTL, f.skew)
}

// ConfigOf returns the settings of a client from most markers and its flags, 0 where not given.
func ConfigOf(markers guard.Config, masters int, maxTTL, skew time.Duration) guard.Config {
	return guard.Config{
		Level: max(guard.Standard, markers.Level), MaxTTL: cmp.Or(maxTTL, markers.MaxTTL, app.DefaultMaxTTL),
		Masters: masters, ClientSkew: skew, Drift: drift.Default,
	}
}

// Fleet returns the settings of most markers, in a tie the first ones; false: no marker has any.
func (l *Look) Fleet() (fleet guard.Config, found bool) {
	votes := map[guard.Config]int{}
	for i := range l.Facts {
		m := l.Facts[i].Marker
		if c, ok := m.Config(); ok {
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

// Settings returns the settings in a marker, for people.
func Settings(m guard.Fields) string {
	if c, ok := m.Config(); ok {
		return c.String()
	}
	return m.Settings()
}
