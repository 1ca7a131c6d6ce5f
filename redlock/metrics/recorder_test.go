package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/internal/simmaster"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/metrics"
)

// inSim runs a test with a client on n masters in a bubble of virtual time.
func inSim(t *testing.T, n int, r *metrics.Recorder, level redlock.GuardLevel, test func(t *testing.T, c *redlock.Client, masters []*simmaster.Master)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cluster, err := simmaster.StartMemoryCluster(n)
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		c, err := redlock.Open(cluster.URLs(), redlock.WithLogger(nil), redlock.WithTrace(r.Trace()), redlock.WithGuard(level), redlock.WithPool(pool.WithDialer(cluster.Dialer())))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		synctest.Wait()
		test(t, c, cluster.Masters())
	})
}

// values are all values of a recorder but those of buckets and sums, by how they
// stand in the text.
func values(t *testing.T, r *metrics.Recorder) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for line := range strings.Lines(text(t, r)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && name != "#" && !strings.Contains(name, "_bucket") && !strings.Contains(name, "_sum") {
			all[name] = value
		}
	}
	return all
}

func text(t *testing.T, r *metrics.Recorder) string {
	t.Helper()
	var b strings.Builder
	if n, err := r.WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Fatalf("%d of %d bytes, %v", n, b.Len(), err)
	}
	return b.String()
}

func want(t *testing.T, r *metrics.Recorder, wanted map[string]string) {
	t.Helper()
	all := values(t, r)
	for name, value := range wanted {
		if all[name] != value {
			t.Errorf("%s is %q: want %s", name, all[name], value)
		}
	}
}

func TestLocksAreCounted(t *testing.T) {
	r := metrics.New()
	inSim(t, 5, r, redlock.GuardOff, func(t *testing.T, c *redlock.Client, masters []*simmaster.Master) {
		ctx := t.Context()
		l, err := c.Lock(ctx, "key", redlock.WithTTL(9*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		want(t, r, map[string]string{"redlock_held": "1", "redlock_waiting": "0"})

		again, err := c.Lock(l.Context(), "key", redlock.WithReentrancy(), redlock.WithTTL(9*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		_ = again.Unlock(ctx)
		_ = l.Verify(ctx)
		_ = l.Extend(ctx)
		time.Sleep(10 * time.Second) // three or four renewals
		if _, err := c.TryLock(ctx, "key"); !errors.Is(err, redlock.ErrTaken) {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			patient, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, _ = c.Lock(patient, "key", redlock.WithBackoff(func(int) time.Duration { return 400 * time.Millisecond }))
		}()
		time.Sleep(500 * time.Millisecond)
		want(t, r, map[string]string{"redlock_waiting": "1", `redlock_retries_total{reason="taken"}`: "2"})
		<-done
		_ = l.Unlock(ctx)

		for _, m := range masters {
			m.FlushAll()
		}
		gone, err := c.Lock(ctx, "other")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range masters {
			m.FlushAll()
		}
		_ = gone.Unlock(ctx)
		for _, m := range masters[:3] {
			m.Kill()
		}
		synctest.Wait()
		_, _ = c.TryLock(ctx, "key")
		time.Sleep(time.Second)

		want(t, r, map[string]string{
			"redlock_held":                                      "0",
			"redlock_waiting":                                   "0",
			"redlock_contended_total":                           "2",
			"redlock_reentered_total":                           "1",
			`redlock_attempts_total{result="acquired"}`:         "2",
			`redlock_attempts_total{result="taken"}`:            "4",
			`redlock_attempts_total{result="no_quorum"}`:        "1",
			`redlock_wait_seconds_count{result="acquired"}`:     "2",
			`redlock_wait_seconds_count{result="taken"}`:        "2",
			`redlock_wait_seconds_count{result="no_quorum"}`:    "1",
			`redlock_hold_seconds_count{end="unlocked"}`:        "1",
			`redlock_hold_seconds_count{end="lost"}`:            "1",
			`redlock_losses_total{reason="expired"}`:            "1",
			`redlock_losses_total{reason="closed"}`:             "0",
			`redlock_extensions_total{op="verify",result="ok"}`: "1",
			`redlock_extensions_total{op="extend",result="ok"}`: "1",
			`redlock_unlock_seconds_count{result="released"}`:   "2",
			`redlock_unlock_seconds_count{result="not_held"}`:   "1",
			`redlock_renewals_total{result="failed"}`:           "0",
		})
		if n := values(t, r)[`redlock_renewals_total{result="ok"}`]; n != "3" && n != "4" {
			t.Errorf("%s renewals", n)
		}
		if n := values(t, r)["redlock_renewal_seconds_count"]; n != "3" && n != "4" {
			t.Errorf("%s renewals were timed", n)
		}
	})
}

func TestAHoldThatEndsAsPlannedIsNoLoss(t *testing.T) {
	r := metrics.New()
	inSim(t, 3, r, redlock.GuardOff, func(t *testing.T, c *redlock.Client, _ []*simmaster.Master) {
		l, err := c.Lock(t.Context(), "key", redlock.WithLease(5*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		<-l.Context().Done()
		synctest.Wait()
		want(t, r, map[string]string{
			"redlock_held": "0",
			`redlock_hold_seconds_count{end="planned"}`: "1",
			`redlock_losses_total{reason="expired"}`:    "0",
		})
	})
}

func TestMastersAreShownOnceAClientIsObserved(t *testing.T) {
	r := metrics.New()
	inSim(t, 3, r, redlock.GuardStandard, func(t *testing.T, c *redlock.Client, masters []*simmaster.Master) {
		l, err := c.Lock(t.Context(), "key", redlock.WithFencing())
		if err != nil {
			t.Fatal(err)
		}
		if all := text(t, r); strings.Contains(all, "redlock_master_connected") || strings.Contains(all, "redlock_quorum_masters") {
			t.Errorf("nobody is observed yet:\n%s", all)
		}
		r.Observe(c)
		synctest.Wait() // for the answers nobody waited for
		masters[2].Kill()
		synctest.Wait()
		_ = l.Unlock(t.Context())
		names := c.Masters(t.Context())
		want(t, r, map[string]string{
			"redlock_quorum_masters":                                                                                "2",
			"redlock_fencing_tokens_total":                                                                          "1",
			"redlock_fencing_second_rounds_total":                                                                   "0",
			fmt.Sprintf("redlock_master_connected{master=%q}", names[0].Master):                                     "1",
			fmt.Sprintf("redlock_master_connected{master=%q}", names[2].Master):                                     "0",
			fmt.Sprintf("redlock_master_votes{master=%q}", names[0].Master):                                         "1",
			fmt.Sprintf("redlock_master_votes{master=%q}", names[2].Master):                                         "0",
			fmt.Sprintf("redlock_master_quarantine_seconds{master=%q}", names[0].Master):                            "0",
			fmt.Sprintf("redlock_master_in_flight{master=%q}", names[0].Master):                                     "0",
			fmt.Sprintf("redlock_master_replies_total{master=%q,op=\"lock\",result=\"agreed\"}", names[0].Master):   "1",
			fmt.Sprintf("redlock_master_replies_total{master=%q,op=\"unlock\",result=\"agreed\"}", names[0].Master): "1",
			fmt.Sprintf("redlock_master_replies_total{master=%q,op=\"lock\",result=\"timeout\"}", names[0].Master):  "0",
			fmt.Sprintf("redlock_master_reply_seconds_count{master=%q}", names[0].Master):                           "2",
		})
		if offset, err := strconv.ParseFloat(values(t, r)[fmt.Sprintf("redlock_master_clock_offset_seconds{master=%q}", names[0].Master)], 64); err != nil || math.Abs(offset) > 0.001 {
			t.Errorf("clock offset %v, %v", offset, err)
		}
		masters[0].Freeze()
		_, _ = c.TryLock(t.Context(), "key")
		masters[0].Thaw()
		synctest.Wait()
		want(t, r, map[string]string{
			fmt.Sprintf("redlock_master_replies_total{master=%q,op=\"lock\",result=\"timeout\"}", names[0].Master): "1",
			fmt.Sprintf("redlock_master_replies_total{master=%q,op=\"lock\",result=\"failed\"}", names[2].Master):  "1",
		})
		_ = c.Close()
		want(t, r, map[string]string{fmt.Sprintf("redlock_master_connected{master=%q}", names[0].Master): "0"})
	})
}

func TestTimesFallIntoTheirBuckets(t *testing.T) {
	r := metrics.New()
	for _, held := range []time.Duration{time.Millisecond, 1500 * time.Microsecond, 20 * time.Millisecond, 24 * time.Hour} {
		r.Trace().Released(redlock.ReleasedInfo{End: redlock.EndUnlocked, Held: held})
	}
	for _, line := range []string{
		`redlock_hold_seconds_bucket{end="unlocked",le="0.001"} 1`,
		`redlock_hold_seconds_bucket{end="unlocked",le="0.005"} 2`,
		`redlock_hold_seconds_bucket{end="unlocked",le="0.05"} 3`,
		`redlock_hold_seconds_bucket{end="unlocked",le="21600"} 3`,
		`redlock_hold_seconds_bucket{end="unlocked",le="+Inf"} 4`,
		`redlock_hold_seconds_sum{end="unlocked"} 86400.0225`,
		`redlock_hold_seconds_count{end="unlocked"} 4`,
	} {
		if !strings.Contains(text(t, r), line+"\n") {
			t.Errorf("missing: %s\n%s", line, text(t, r))
		}
	}
}

func TestClassesAreBounded(t *testing.T) {
	r := metrics.New(metrics.WithClasses(func(key string) string {
		class, _, _ := strings.Cut(key, ":")
		return class
	}))
	trace := r.Trace()
	for i := range metrics.MaxClasses + 10 {
		trace.Attempt(redlock.AttemptInfo{Key: fmt.Sprintf("class%d:%d", i, i)})
	}
	trace.Attempt(redlock.AttemptInfo{Key: "class0:1", Err: redlock.ErrTaken})
	trace.Attempt(redlock.AttemptInfo{Key: "a\"\\\n:\xff"})
	want(t, r, map[string]string{
		`redlock_attempts_total{class="class0",result="acquired"}`: "1",
		`redlock_attempts_total{class="class0",result="taken"}`:    "1",
		`redlock_attempts_total{class="other",result="acquired"}`:  "11",
	})
	odd := metrics.New(metrics.WithClasses(func(key string) string { return key }))
	odd.Trace().Attempt(redlock.AttemptInfo{Key: "a\"\\\n\xff"})
	want(t, odd, map[string]string{`redlock_attempts_total{class="a\"\\\n?",result="acquired"}`: "1"})
}

// A lost metric would go unseen: every family has the labels it is described with.
func TestWhatIsGatheredIsAsDescribed(t *testing.T) {
	for name, r := range map[string]*metrics.Recorder{
		"one class": metrics.New(), "classes": metrics.New(metrics.WithClasses(func(string) string { return "c" })),
	} {
		r.Trace().Begin(t.Context(), redlock.BeginInfo{})
		r.Trace().Reply(redlock.ReplyInfo{Master: "m"})
		descs, families := r.Descs(), r.Gather()
		if len(descs) != len(families) {
			t.Fatalf("%s: %d described, %d gathered", name, len(descs), len(families))
		}
		for i, f := range families {
			if f.Name != descs[i].Name || !slices.Equal(f.Labels, descs[i].Labels) || f.Help == "" {
				t.Errorf("%s: %+v is described as %+v", name, f.Desc, descs[i])
			}
			for _, s := range f.Samples {
				if len(s.Labels) != len(f.Labels) || (s.Histogram != nil) != (f.Type == metrics.HistogramType) {
					t.Errorf("%s: %s has a sample %+v", name, f.Name, s)
				}
			}
		}
	}
}

func TestAScrapeIsAnswered(t *testing.T) {
	r := metrics.New()
	for method, code := range map[string]int{http.MethodGet: 200, http.MethodHead: 200, http.MethodPost: 405} {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(method, "/metrics", http.NoBody))
		if w.Code != code || code == 200 && (w.Header().Get("Content-Type") != metrics.ContentType || !strings.Contains(w.Body.String(), "redlock_held 0\n")) {
			t.Errorf("%s: %d %v %s", method, w.Code, w.Header(), w.Body)
		}
	}
}

func TestCountingDoesNotAllocate(t *testing.T) {
	trace := metrics.New().Trace()
	ctx, lost := t.Context(), &redlock.LostError{Reason: redlock.ReasonExpired}
	trace.Reply(redlock.ReplyInfo{Master: "m"})
	if n := testing.AllocsPerRun(100, func() {
		trace.Begin(ctx, redlock.BeginInfo{})
		trace.Attempt(redlock.AttemptInfo{})
		trace.Reply(redlock.ReplyInfo{Master: "m", Op: "unlock", Sent: true, Latency: time.Hour})
		trace.Retry(redlock.RetryInfo{Err: redlock.ErrTaken})
		trace.Wait(redlock.WaitInfo{Attempts: 2})
		trace.Held(ctx, redlock.HeldInfo{})
		trace.Renewal(redlock.RenewalInfo{})
		trace.Extend(redlock.ExtendInfo{Op: "verify"})
		trace.Released(redlock.ReleasedInfo{End: redlock.EndLost, Lost: lost})
		trace.Unlock(redlock.UnlockInfo{})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
