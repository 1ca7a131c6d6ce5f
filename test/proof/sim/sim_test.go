package sim

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	fromSeed  = flag.Uint64("from", 0, "first seed of each profile")
	seedCount = flag.Int("seeds", 10, "how many seeds of each profile")
	only      = flag.String("profiles", "", "profiles, separated by commas (all)")
	timeline  = flag.Bool("timeline", false, "print all that happens in each run")
	sameSeeds = flag.Int("same", 1, "in how many groups of five seeds of each profile one has to repeat")
	repeats   = flag.Int("repeats", 1, "with how many further runs of the same seed")
	overTCP   = flag.Duration("tcp", time.Minute, "for how long random programs run over TCP")
	progress  = flag.Bool("progress", false, "print how far it has come, every few seconds")
)

func TestMain(m *testing.M) {
	// Masters are broken on purpose: their clients' warnings would bury the results.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	flag.Parse()
	// Garbage is collected less often, which costs memory and saves processor time.
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

func chosen() []string {
	if *only == "" {
		return Profiles()
	}
	return strings.Split(*only, ",")
}

// seeds returns the seeds that each profile runs with.
func seeds(t *testing.T) (all []uint64) {
	t.Helper()
	runs := Tenth(t, *seedCount, "seeds of each profile")
	for i := range *seedCount {
		if runs(i) {
			all = append(all, *fromSeed+uint64(i))
		}
	}
	return all
}

// A job is one run to do.
type job struct {
	profile string
	seed    uint64
}

// inParallel runs jobs on as many goroutines as there are processors, each in a subtest of its
// own.
func inParallel(t *testing.T, jobs []job, do func(t *testing.T, j job)) {
	var next atomic.Int64
	began := time.Now()
	stop := make(chan struct{})
	var printing sync.WaitGroup
	if *progress {
		printing.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Second):
					done := min(int(next.Load()), len(jobs))
					fmt.Fprintf(os.Stderr, "%d of %d runs begun, %.1f a second\n", done, len(jobs), float64(done)/time.Since(began).Seconds())
				}
			}
		})
	}
	t.Run("runs", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for {
					i := int(next.Add(1)) - 1
					if i >= len(jobs) {
						return
					}
					do(t, jobs[i])
				}
			})
		}
	})
	close(stop)
	printing.Wait()
}

// runAll runs jobs, and sums up the statistics of each profile.
func runAll(t *testing.T, jobs []job, do func(t *testing.T, j job) *Result) map[string]*Stats {
	var mu sync.Mutex
	total := make(map[string]*Stats)
	inParallel(t, jobs, func(t *testing.T, j job) {
		r := do(t, j)
		mu.Lock()
		defer mu.Unlock()
		if total[j.profile] == nil {
			total[j.profile] = &Stats{}
		}
		total[j.profile].Add(&r.Stats)
	})
	return total
}

// No seed of any profile breaks a promise. A failing seed prints its timeline, and
//
//	go test ./sim -run TestSeeds -profiles NAME -from SEED -seeds 1 -timeline
//
// shows it again.
func TestSeeds(t *testing.T) {
	var jobs []job
	for _, seed := range seeds(t) {
		for _, name := range chosen() {
			jobs = append(jobs, job{name, seed})
		}
	}
	began := time.Now()
	total := runAll(t, jobs, func(t *testing.T, j job) *Result {
		r := Run(t, Draw(j.profile, j.seed), j.seed, *timeline)
		if len(r.Violations) > 0 && !*timeline {
			r = Run(t, Draw(j.profile, j.seed), j.seed, true)
			t.Errorf("replay with -profiles %s -from %d -seeds 1 -timeline\n%s", j.profile, j.seed, r.Report())
		} else if *timeline {
			t.Log(r.Report())
			if len(r.Violations) > 0 {
				t.Fail()
			}
		}
		return r
	})
	for _, name := range chosen() {
		t.Logf("%-10s %d seeds: %v", name, len(jobs)/len(chosen()), total[name])
		if total[name].Granted == 0 {
			t.Errorf("%s: nothing was ever granted", name)
		}
	}
	t.Logf("%d runs in %v", len(jobs), time.Since(began).Round(time.Millisecond))
}

// Batched acquisitions, and code of users beside the calls, make several calls of a client go
// on at one instant, in an order that does not follow from the seed. The same promises hold,
// but each run keeps its timeline, because it cannot be repeated.
func TestProfilesThatASeedCannotRepeat(t *testing.T) {
	for _, profile := range []string{guardedFlushes, users} {
		var jobs []job
		for _, seed := range seeds(t) {
			jobs = append(jobs, job{profile, seed})
		}
		total := runAll(t, jobs, func(t *testing.T, j job) *Result {
			r := Run(t, Draw(j.profile, j.seed), j.seed, true)
			if len(r.Violations) > 0 {
				t.Errorf("%s", r.Report())
			}
			return r
		})[profile]
		t.Logf("%s, %d seeds: %v", profile, len(jobs), total)
		if total.Granted == 0 || profile == guardedFlushes && total.Joined == 0 {
			t.Errorf("%d granted, %d joined", total.Granted, total.Joined)
		}
	}
}

// Random programs of the profile users run over TCP in real time, two at a time, for as long as
// -tcp says.
func TestRunsOverTCP(t *testing.T) {
	var mu sync.Mutex
	var total Stats
	began, next := time.Now(), atomic.Uint64{}
	t.Run("runs", func(t *testing.T) {
		for range 2 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for time.Since(began) < *overTCP {
					seed := *fromSeed + next.Add(1) - 1
					r := RunTCP(t, Draw(users, seed), seed)
					if len(r.Violations) > 0 {
						t.Error(r.Report())
					}
					mu.Lock()
					total.Add(&r.Stats)
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d runs: %v", next.Load(), &total)
	if total.Granted == 0 || total.Closes == 0 {
		t.Errorf("%d granted, %d clients closed", total.Granted, total.Closes)
	}
}

// In a few seeds of a hundred, two goroutines of a client go on at one instant, in an order
// that does not follow from the seed (docs/project/verification.md). Any other dependence would
// show in every seed. So it is enough that one of five seeds of each profile gives the same run
// again, as often as -repeats says.
func TestTheSameSeedGivesTheSameRun(t *testing.T) {
	const seeds = 5
	var jobs []job
	for i := range uint64(*sameSeeds) {
		for _, name := range chosen() {
			jobs = append(jobs, job{name, *fromSeed + 3000 + i*seeds})
		}
	}
	inParallel(t, jobs, func(t *testing.T, j job) {
		var differences []string
		for seed := j.seed; seed < j.seed+seeds; seed++ {
			a, d := again(t, j.profile, seed)
			if d == "" {
				t.Logf("%s, seed %d: %016x, %d times; different before: %d", j.profile, seed, a, 1+*repeats, len(differences))
				return
			}
			differences = append(differences, fmt.Sprintf("%s, seed %d: two runs differ:\n%s", j.profile, seed, d))
		}
		t.Error(strings.Join(differences, "\n"))
	})
}

// again repeats a seed. It returns the first run's hash, and where another run differs from it.
func again(t *testing.T, profile string, seed uint64) (h uint64, parted string) {
	a := Run(t, Draw(profile, seed), seed, true)
	for range *repeats {
		if b := Run(t, Draw(profile, seed), seed, true); a.Hash != b.Hash {
			return a.Hash, difference(a.Timeline, b.Timeline)
		}
	}
	return a.Hash, ""
}

// difference shows where two timelines begin to differ.
func difference(a, b string) string {
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(left), len(right)) {
		if left[i] != right[i] {
			from := max(0, i-12)
			return fmt.Sprintf("%s\none:\n%s\nother:\n%s", strings.Join(left[from:i], "\n"),
				strings.Join(left[i:min(i+6, len(left))], "\n"), strings.Join(right[i:min(i+6, len(right))], "\n"))
		}
	}
	return "one is longer"
}
