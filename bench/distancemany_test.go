package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

const (
	// manyFor is how long the goroutines of BenchmarkDistanceMany are at work.
	manyFor = 5 * time.Second
	// manyBurners is how many processes do nothing but take processor time, where the
	// machine is to be busy.
	manyBurners = 8
)

// BenchmarkDistanceMany has up to 1,024 goroutines of one client lock and unlock keys of
// their own while the masters are 2 ms away: on a machine that does nothing else, and on
// one whose processors are wanted by other processes too. Beside the rate it reports how
// many attempts failed, by what their masters contributed, and what the network lost.
func BenchmarkDistanceMany(b *testing.B) {
	if err := redistest.Available(); err != nil {
		b.Skip(err)
	}
	printDistances()
	for _, burners := range []int{0, manyBurners} {
		for _, goroutines := range []int{256, 1024} {
			b.Run(fmt.Sprintf("lib=redquorum/%s/burners=%d", goroutinesName(goroutines), burners), func(b *testing.B) {
				if b.N > 1 {
					b.Fatal("a series took less than a second: it is repeated by COUNT")
				}
				r, err := measureApart(b.Context(), distanceJob{Library: manyLibrary, Far: all(2 * time.Millisecond), Goroutines: goroutines, Burners: burners})
				if err != nil {
					b.Fatal(err)
				}
				r.report(b)
				for _, f := range r.Failures {
					b.Log(f)
				}
			})
		}
	}
}

// manyLibrary is the name of the job.
const manyLibrary = "redquorum-many"

// A manyWatch counts the attempts that failed, by cause.
type manyWatch struct {
	attempts, failed atomic.Int64

	mu     sync.Mutex // guards causes and first
	causes map[string]float64
	first  []string
}

func (w *manyWatch) trace() *redlock.Trace {
	return &redlock.Trace{Attempt: func(a redlock.AttemptInfo) {
		w.attempts.Add(1)
		if a.Err == nil {
			return
		}
		w.failed.Add(1)
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.first) < 3 {
			w.first = append(w.first, a.Err.Error())
		}
		if e, ok := errors.AsType[*redlock.QuorumError](a.Err); ok && e.Nodes != nil {
			for n := range e.NodeErrors() {
				w.causes[causeName(n.Err)]++
			}
			return
		}
		w.causes["no-node"]++
	}}
}

// measureMany runs the goroutines of one client.
func (j distanceJob) measureMany(ctx context.Context, r *distanceRun) (err error) {
	stop, err := burn(ctx, j.Burners)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	watch := &manyWatch{causes: map[string]float64{}}
	p, err := openRedquorumAt(r.urls, redlock.GuardStandard, redlock.WithTrace(watch.trace()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.connect(ctx, 1); err != nil {
		return err
	}
	before := lostPackets()
	var wg sync.WaitGroup
	took := make([][]time.Duration, j.Goroutines)
	unlockFailed := atomic.Int64{}
	began := time.Now()
	for i := range took {
		w := p.worker(fmt.Sprintf("distance:many:%d", i))
		wg.Go(func() {
			for time.Since(began) < manyFor {
				start := time.Now()
				if w.lock(ctx) != nil {
					continue
				}
				took[i] = append(took[i], time.Since(start))
				if w.unlock(ctx) != nil {
					unlockFailed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	for _, one := range took {
		r.result.Took["lock"] = append(r.result.Took["lock"], one...)
	}
	x := r.result.Extra
	x["pairs/s"] = float64(len(r.result.Took["lock"])) / time.Since(began).Seconds()
	x["failed"], x["unlock-failed"] = float64(watch.failed.Load()), float64(unlockFailed.Load())
	x["sched-p99-µs"] = schedulingLatency(0.99)
	for name, n := range lostPackets() {
		x[name] = n - before[name]
	}
	for name, n := range watch.causes {
		x["by-"+name] = n
	}
	r.result.Failures = watch.first
	return nil
}

// causeName is a failure of one master as a unit of the report.
func causeName(err error) string {
	switch {
	case errors.Is(err, redlock.ErrNotAwaited):
		return "not-awaited"
	case errors.Is(err, pool.ErrTimeout):
		return "timeout"
	case errors.Is(err, pool.ErrQueueFull):
		return "queue-full"
	case errors.Is(err, pool.ErrStalled):
		return "stalled"
	default:
		return strings.ReplaceAll(err.Error(), " ", "-")
	}
}

// schedulingLatency is for how long goroutines that could run have waited for a
// processor, so far in this process: a percentile, in microseconds.
func schedulingLatency(share float64) float64 {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	h := sample[0].Value.Float64Histogram()
	var all, sum uint64
	for _, n := range h.Counts {
		all += n
	}
	for i, n := range h.Counts {
		if sum += n; float64(sum) >= share*float64(all) {
			return h.Buckets[i] * 1e6
		}
	}
	return 0
}

// lostPackets is what TCP has sent again so far in this process's network, and how often
// because no acknowledgement came in time. Only Linux tells.
func lostPackets() map[string]float64 {
	lost := map[string]float64{}
	snmp, _ := os.ReadFile("/proc/net/snmp")
	netstat, _ := os.ReadFile("/proc/net/netstat")
	var names []string
	for line := range strings.Lines(string(snmp) + string(netstat)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "Tcp:" && f[0] != "TcpExt:" {
			continue
		}
		if names == nil {
			names = f
			continue
		}
		for i, name := range names {
			switch name {
			case "RetransSegs":
				lost["segments-again"], _ = strconv.ParseFloat(f[i], 64)
			case "TCPTimeouts":
				lost["tcp-timeouts"], _ = strconv.ParseFloat(f[i], 64)
			}
		}
		names = nil
	}
	return lost
}

// burnHere does nothing but take processor time, until its standard input ends.
func burnHere(string) error {
	go func() {
		for n := 0; ; n++ {
			_ = n
		}
	}()
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// burn starts so many of those processes, and returns what ends them.
func burn(ctx context.Context, n int) (stop func() error, err error) {
	var stops []func() error
	stop = func() error {
		var errs []error
		for _, stop := range stops {
			errs = append(errs, stop())
		}
		return errors.Join(errs...)
	}
	for range n {
		c, err := inRole(ctx, "burn", nil)
		var in io.WriteCloser
		if err == nil {
			in, err = c.StdinPipe()
		}
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		stops = append(stops, func() error { return errors.Join(in.Close(), c.Wait()) })
	}
	return stop, nil
}
