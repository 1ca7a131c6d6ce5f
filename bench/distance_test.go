package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
)

// distances are the round trips to the masters, as a ping takes. At the largest,
// processor time hardly counts: it is for bounds.
var distances = []time.Duration{500 * time.Microsecond, 2 * time.Millisecond, 20 * time.Millisecond}

// BenchmarkDistance measures lock, unlock and hand-over with all masters 0.5, 2 and 20 ms
// away, in round trips: the time it took, divided by the time in which a quorum of the
// masters answers a PING over the same network.
//
// A network device makes the delay if the kernel and the rights permit it
// (distanceline_linux_test.go): it takes no time of the goroutines that are measured.
// Otherwise a proxy makes it. The line "distances:" of the output, and the report, say
// which it was. An operation is a whole series of measurements, whatever -benchtime says.
func BenchmarkDistance(b *testing.B) {
	if err := redistest.Available(); err != nil {
		b.Skip(err)
	}
	printDistances()
	for _, far := range distances {
		for _, lib := range distanceLibraries {
			b.Run(fmt.Sprintf("lib=%s/micros=%d", lib.name, far.Microseconds()), func(b *testing.B) {
				if b.N > 1 {
					b.Fatal("a series took less than a second: it is repeated by COUNT")
				}
				r, err := measureApart(b.Context(), distanceJob{Library: lib.name, Far: far})
				if err != nil {
					b.Fatal(err)
				}
				r.report(b)
			})
		}
	}
}

// A distanceJob is what a separate process measures.
type distanceJob struct {
	Library string // "": only the round trip is measured
	Far     time.Duration
}

// A distanceResult is what that process found.
type distanceResult struct {
	Line string                     // what made the distance
	Took map[string][]time.Duration // by operation
	Trip time.Duration              // a quorum's round trip
}

func (r *distanceResult) report(b *testing.B) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(microseconds(r.Trip), "trip-µs")
	for op, took := range r.Took {
		p50, _ := percentiles(took)
		b.ReportMetric(float64(p50)/float64(r.Trip), op+"-rt")
	}
}

// measureApart runs the job in another process of this binary, in a separate network if
// that is possible.
func measureApart(ctx context.Context, job distanceJob) (*distanceResult, error) {
	ctx, cancel := context.WithTimeout(ctx, distanceBound)
	defer cancel()
	run := func(prepare func(*exec.Cmd)) ([]byte, error) {
		c, err := inRole(ctx, "distance", job)
		if err != nil {
			return nil, err
		}
		c.WaitDelay = 10 * time.Second
		var said bytes.Buffer
		c.Stderr = &said
		prepare(c)
		out, err := c.Output()
		if err != nil && said.Len() > 0 {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(said.Bytes()))
		}
		return out, err
	}
	out, err := run(inOwnNetwork)
	if _, started := errors.AsType[*exec.ExitError](err); err != nil && !started && ctx.Err() == nil {
		out, err = run(func(*exec.Cmd) {})
	}
	if err != nil {
		return nil, fmt.Errorf("the process that measures: %w", err)
	}
	r := &distanceResult{}
	return r, json.Unmarshal(out, r)
}

// distanceBound ends a series that hangs.
const distanceBound = 2 * time.Minute

// measureHere runs in the other process: it runs the job and writes the result.
func measureHere(spec string) error {
	var job distanceJob
	if err := json.Unmarshal([]byte(spec), &job); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), distanceBound)
	defer cancel()
	r, err := job.run(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// run starts masters, puts them at their distances, and measures.
func (j distanceJob) run(ctx context.Context) (r *distanceResult, err error) {
	addresses, stopLine, lineErr := startDistanceLine(ctx, slices.Repeat([]time.Duration{j.Far}, masterCount))
	cfg := redistest.Config{}
	if lineErr == nil {
		defer func() { err = errors.Join(err, stopLine()) }()
		cfg.Args = []string{"--bind", "127.0.0.1", lineAddress, "--protected-mode", "no"}
	}
	masters, err := redistest.LaunchN(ctx, masterCount, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, masters.Close()) }()
	urls := masters.URLs()
	for i := range urls {
		u, err := url.Parse(urls[i])
		if err != nil {
			return nil, err
		}
		if lineErr == nil {
			u.Host = addresses[i] + ":" + u.Port()
			urls[i] = u.String()
			continue
		}
		p, err := redistest.NewProxy(u.Host)
		if err != nil {
			return nil, err
		}
		defer p.Close()
		p.Delay(j.Far / 2)
		u.Host = p.Addr()
		urls[i] = u.String()
	}
	r = &distanceResult{Line: "a delaying network device", Took: map[string][]time.Duration{}}
	if lineErr != nil {
		r.Line = fmt.Sprintf("a delaying proxy (no device: %v)", lineErr)
	}
	pings := make([][]time.Duration, len(urls))
	if err := pingAll(ctx, urls, pings); err != nil {
		return nil, err
	}
	for _, lib := range distanceLibraries {
		if lib.name != j.Library {
			continue
		}
		if err := r.measure(ctx, lib, urls); err != nil {
			return nil, err
		}
	}
	if err := pingAll(ctx, urls, pings); err != nil { // before and after
		return nil, err
	}
	r.Trip = quorumTrip(pings)
	return r, nil
}

// pingAll adds round trips of every master to pings.
func pingAll(ctx context.Context, urls []string, pings [][]time.Duration) error {
	for i, u := range urls {
		err := func() error {
			conn, err := redis.DialURLContext(ctx, u)
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close() }()
			for range 20 {
				began := time.Now()
				if _, err := redis.DoContext(conn, ctx, "PING"); err != nil {
					return err
				}
				pings[i] = append(pings[i], time.Since(began))
			}
			return nil
		}()
		if err != nil {
			return fmt.Errorf("ping master %d: %w", i, err)
		}
	}
	return nil
}

// quorumTrip is how long a quorum takes to answer: the median round trip of its slowest
// master.
func quorumTrip(pings [][]time.Duration) time.Duration {
	medians := make([]time.Duration, len(pings))
	for i, p := range pings {
		medians[i], _ = percentiles(slices.Clone(p))
	}
	slices.Sort(medians)
	return medians[len(medians)/2]
}

// printDistances prints once what makes the distances, in the form of printVersions. The
// benchmark calls it before its sub-benchmarks, where the output is at the start of a line.
var printDistances = sync.OnceFunc(func() {
	r, err := measureApart(context.Background(), distanceJob{Far: time.Millisecond})
	if err != nil {
		fmt.Fprintln(os.Stderr, "distances cannot be made:", err)
		return
	}
	_, _ = io.WriteString(os.Stdout, "distances: "+r.Line+"\n")
})
