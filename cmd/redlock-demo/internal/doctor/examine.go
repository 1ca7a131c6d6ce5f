package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/ask"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/sleep"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/pool"
)

// Options say whom to examine, and for how long.
type Options struct {
	URLs []string
	Pool []pool.Option
	TLS  *tls.Config   // of Pool, for rediss:// URLs; nil: the default
	Key  string        // of the probes: a lock that does not exist
	For  time.Duration // how long clocks are watched, and round trips taken

	verdictOnly bool // nothing is asked but what a verdict hangs on
}

// Bounds of an examination.
const (
	connectBound = 3 * time.Second // of which a dial may take 2 s
	answerBound  = 2 * time.Second
	pingEvery    = 20 * time.Millisecond
	clockEvery   = 200 * time.Millisecond
	maxTrips     = 10_000
)

// Examine asks all masters at once. It takes as long as Options.For, and 5 s
// more at the most where masters do not answer. The error is the library's about
// the URLs, or ctx's cause.
func Examine(ctx context.Context, o Options) ([]Facts, error) {
	p, err := pool.New(o.URLs, o.Pool...) // checks them all together
	if err != nil {
		return nil, err
	}
	_ = p.Close()
	facts := make([]Facts, len(o.URLs))
	var wg sync.WaitGroup
	errs := make([]error, len(o.URLs))
	for i, url := range o.URLs {
		wg.Go(func() { errs[i] = o.examine(ctx, url, &facts[i]) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return facts, errors.Join(errs...)
}

// CanLock asks all masters at once what says whether a client can take a lock now,
// and judges it. It takes a few round trips, and 5 s at the most where masters do
// not answer. It writes sightings at most. The error is as that of Examine.
func CanLock(ctx context.Context, o Options, client Client) (*Verdict, error) {
	o.verdictOnly = true
	facts, err := Examine(ctx, o)
	if err != nil {
		return nil, err
	}
	verdict, _ := Judge(facts, drift.System().Now(), client)
	return &verdict, nil
}

// examine asks one master.
func (o *Options) examine(ctx context.Context, url string, f *Facts) error {
	opts := slices.Clone(o.Pool)
	var expires struct {
		sync.Mutex
		at time.Time
	}
	if strings.HasPrefix(url, "rediss://") {
		f.TLS = true
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if o.TLS != nil {
			config = o.TLS.Clone()
		}
		config.VerifyConnection = func(state tls.ConnectionState) error {
			expires.Lock()
			defer expires.Unlock()
			expires.at = firstToExpire(state)
			return nil
		}
		opts = append(opts, pool.WithTLS(config))
	}
	m, err := ask.Open(url, opts...)
	if err != nil {
		return err
	}
	defer m.Close()
	f.Master, f.DB = m.Name(), m.DB()
	connecting, cancel := context.WithTimeout(ctx, connectBound)
	defer cancel()
	if up, err := m.Connect(connecting); !up {
		f.Down = err
		if err == nil {
			f.Down = errors.New("no connection in time")
		}
		return nil
	}
	o.interview(ctx, m, f)
	if o.verdictOnly {
		return nil
	}
	o.watch(ctx, m, f)
	expires.Lock()
	defer expires.Unlock()
	f.Expires = expires.at
	return nil
}

// firstToExpire is when the first certificate of the chain does.
func firstToExpire(state tls.ConnectionState) (first time.Time) {
	for _, c := range state.PeerCertificates {
		if first.IsZero() || c.NotAfter.Before(first) {
			first = c.NotAfter
		}
	}
	return first
}

// interview asks what is asked once.
func (o *Options) interview(ctx context.Context, m *ask.Master, f *Facts) {
	bounded, cancel := context.WithTimeout(ctx, answerBound)
	defer cancel()
	if text, err := redis.String(answer(m.Do(bounded, "INFO"))); err != nil {
		f.InfoErr = err
	} else {
		f.Info = parseInfo(text)
	}
	if !o.verdictOnly {
		f.readConfig(bounded, m)
	}
	if !f.standalone() {
		return
	}
	f.Marker, f.MarkerErr = m.Marker(bounded)
	f.Clock, _ = m.Clock(bounded) // permissions tell why not
	if f.Marker == nil && f.MarkerErr == nil {
		f.Sighting = sighted(bounded, m, f)
	}
	if !o.verdictOnly {
		f.Missing, f.User = permissions(bounded, m, o.Key)
	}
}

// readConfig asks for the settings that findings are about.
func (f *Facts) readConfig(ctx context.Context, m *ask.Master) {
	f.Config = map[string]string{}
	for _, name := range []string{"appendonly", "appendfsync", "maxmemory", "maxmemory-policy", "min-replicas-to-write", "repl-backlog-ttl"} {
		pair, err := redis.StringMap(answer(m.Do(ctx, "CONFIG", "GET", name)))
		if err != nil {
			f.Config, f.ConfigErr = nil, err
			break
		}
		maps.Copy(f.Config, pair)
	}
}

// sighted notes on a master without a marker that it has none, where it has not been
// noted yet, and tells since when; nil: it cannot be noted. It never writes a marker.
func sighted(ctx context.Context, m *ask.Master, f *Facts) *guard.Marker {
	run := f.Info["run_id"]
	if run == "" || f.Info["role"] != "master" {
		return nil
	}
	config := guard.Config{Level: guard.Standard} // a sighting is of no fleet
	target := guard.Target{Run: run, DB: f.DB, Sent: time.Now(), Wait: answerBound}
	a := m.Do(ctx, "EVAL", guard.Sight.EvalArgs(config.SightArgs(target))...)
	if a.Err != nil {
		return nil // permissions tell
	}
	said, err := guard.ParseMarker(a.Reply, a.Sent, a.Received)
	if err != nil || said.Verdict != guard.Missing {
		return nil
	}
	return &said
}

// watch takes round trips and looks at the clock until the time is over.
func (o *Options) watch(ctx context.Context, m *ask.Master, f *Facts) {
	meter := drift.NewMeter(drift.Default)
	began := time.Now()
	var looked time.Time
	for len(f.RoundTrips) < maxTrips {
		bounded, cancel := context.WithTimeout(ctx, answerBound)
		if a := m.Do(bounded, "PING"); a.Err == nil || !errors.Is(a.Err, pool.ErrTimeout) {
			f.RoundTrips = append(f.RoundTrips, a.RoundTrip())
		}
		if over := time.Since(began) >= o.For; over || time.Since(looked) >= clockEvery {
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
		if sleep.For(ctx, pingEvery) != nil {
			return
		}
	}
	slices.Sort(f.RoundTrips)
	f.Offset, f.HasClock = meter.Offset()
	f.RateLow, f.RateHigh, f.HasRate = meter.Rate()
	if !m.Stats().Connected && len(f.RoundTrips) == 0 {
		f.Down = fmt.Errorf("it stopped answering: %w", m.Stats().Err)
	}
}
