package doctor

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/pool"
)

// Facts are what is known about one master.
type Facts struct {
	Master string // its address
	Down   error  // why it cannot be asked; nil: it can

	GuardFacts guard.Facts // for the judgment whether it votes
	Refuses    error       // why it refuses writes of locks from every client; nil: it accepts them

	RoundTrips []time.Duration   // sorted
	Info       map[string]string // nil: see InfoErr
	InfoErr    error
	Config     map[string]string // nil: see ConfigErr
	ConfigErr  error
	Missing    []Permission // those that it denies
	User       string       // the ACL user; "": not known

	HasClock  bool
	Offset    drift.Span // of its clock
	Deviation string     // how its clock moved while it was watched; "": as it should
}

// Bounds of an examination.
const (
	answerBound = 2 * time.Second
	pingEvery   = 20 * time.Millisecond
	clockEvery  = 200 * time.Millisecond
	maxTrips    = 10_000
)

// examine asks all masters at once, for o.exam, and at most 7 s longer where masters do not
// answer. The look is from the end. The error is ctx's cause.
func (o *doctorOptions) examine(ctx context.Context, fleet *observe.Fleet) (*observe.Look, []Facts, error) {
	began := fleet.Look(ctx) // this also begins quarantines
	facts := make([]Facts, len(fleet.Lines))
	observe.Each(fleet.Lines, func(i int, m *observe.Master) {
		if !began.IsUp(i) {
			facts[i].Down = began.Standings[i].Why.Err
			return
		}
		facts[i].interview(ctx, m, cmp.Or(o.key, guard.ProbeKey))
		facts[i].User = cmp.Or(facts[i].User, o.User, userOf(fleet.URLs[i])) // it may not ask WHOAMI
		facts[i].watch(ctx, m, o.exam)
	})
	look := fleet.Look(ctx)
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	for i := range facts {
		facts[i].take(look, i)
	}
	return look, facts, nil
}

// take adds what the look found about master i, and adds to the look a missing permission without
// which no lock can be taken.
func (f *Facts) take(look *observe.Look, i int) {
	f.GuardFacts, f.Refuses, f.Master = look.Facts[i], look.Refuses[i], look.Facts[i].Master
	if !look.IsUp(i) {
		f.Down = look.Standings[i].Why.Err
	}
	for _, p := range f.Missing {
		if p.Vital {
			look.Refuses[i] = &guard.AbstainError{Cause: guard.Forbidden, Value: p.Rule}
		}
	}
}

// userOf returns the ACL user that a URL names.
func userOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.User.Username() != "" {
		return u.User.Username()
	}
	return "default"
}

// interview asks the questions that are asked only once.
func (f *Facts) interview(ctx context.Context, m *observe.Master, key string) {
	ctx, cancel := context.WithTimeout(ctx, answerBound)
	defer cancel()
	text, err := redis.String(answered(m.Do(ctx, "INFO")))
	if err != nil {
		f.InfoErr = err
	} else {
		f.Info = parseInfo(text)
	}
	f.readConfig(ctx, m)
	if f.standalone() {
		f.Missing, f.User = permissions(ctx, m, key)
	}
}

func answered(a *observe.Answer) (any, error) { return a.Reply, a.Err }

// readConfig asks for the settings that findings are about.
func (f *Facts) readConfig(ctx context.Context, m *observe.Master) {
	f.Config = map[string]string{}
	settings := []string{
		"appendonly", "appendfsync", "maxmemory-policy", "min-replicas-to-write", "repl-backlog-ttl",
	}
	for _, name := range settings {
		pair, err := redis.StringMap(answered(m.Do(ctx, "CONFIG", "GET", name)))
		if err != nil {
			f.Config, f.ConfigErr = nil, err
			break
		}
		maps.Copy(f.Config, pair)
	}
}

// watch measures round trips and the clock until total has passed.
func (f *Facts) watch(ctx context.Context, m *observe.Master, total time.Duration) {
	meter := drift.NewMeter(drift.Default)
	began := time.Now()
	var looked time.Time
	for len(f.RoundTrips) < maxTrips {
		bounded, cancel := context.WithTimeout(ctx, answerBound)
		if a := m.Do(bounded, "PING"); a.Err == nil || !errors.Is(a.Err, pool.ErrTimeout) {
			f.RoundTrips = append(f.RoundTrips, a.RoundTrip())
		}
		if over := time.Since(began) >= total; over || time.Since(looked) >= clockEvery {
			looked = time.Now()
			if r, err := m.Clock(bounded); err == nil {
				if d, err := meter.Add(r); err == nil && d != nil {
					f.Deviation = d.String()
				}
			}
			if over {
				cancel()
				break
			}
		}
		cancel()
		if app.Sleep(ctx, pingEvery) != nil {
			return
		}
	}
	slices.Sort(f.RoundTrips)
	f.Offset, f.HasClock = meter.Offset()
}

// standalone reports whether the server runs in standalone mode, as far as INFO says.
func (f *Facts) standalone() bool {
	return f.Info["redis_mode"] == "" || f.Info["redis_mode"] == "standalone"
}

// parseInfo reads the fields of all sections of INFO, under the names that Redis has for them.
func parseInfo(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok && !strings.HasPrefix(name, "#") {
			fields[guard.InfoField(name)] = value
		}
	}
	return fields
}

// persistence returns in a word or two what the master keeps over a restart.
func (f *Facts) persistence() string {
	appends, sync := f.Config["appendonly"], f.Config["appendfsync"]
	switch {
	case f.Config != nil && appends == "yes" && sync != "":
		return "aof " + sync
	case f.Config != nil && appends == "no":
		return "none"
	case f.Config == nil && f.Info["aof_enabled"] == "0":
		return "none"
	case f.Config == nil && f.Info["aof_enabled"] == "1":
		return "aof, fsync unknown"
	default:
		return "unknown"
	}
}

func (f *Facts) policy() string {
	if p := f.Info["maxmemory_policy"]; p != "" {
		return p
	}
	return f.Config["maxmemory-policy"]
}
