package redlockprom_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	redlockprom "github.com/redquorum/redquorum/contrib/prometheus"
	"github.com/redquorum/redquorum/internal/simmaster"
	"github.com/redquorum/redquorum/internal/testutil/masters"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// inBubble runs a test with a client on n masters in a bubble of virtual time.
func inBubble(t *testing.T, n int, r *redlockprom.Collector, level redlock.GuardLevel, test func(*testing.T, *redlock.Client, []*simmaster.Master)) {
	t.Helper()
	masters.InBubble(t, n, func(t *testing.T, b *masters.Bubble) {
		c, err := redlock.Open(b.URLs(), redlock.WithLogger(nil), redlock.WithTrace(r.Trace()), redlock.WithGuard(level),
			redlock.WithPool(pool.WithDialer(b.Dialer())))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		synctest.Wait()
		test(t, c, b.All)
	})
}

func gather(t *testing.T, c prometheus.Collector) []*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// values are the values of all series, and the counts of histograms. The names are as in the
// text that Prometheus reads.
func values(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	all := make(map[string]float64)
	for _, f := range gather(t, c) {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			name := f.GetName()
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			switch {
			case m.GetHistogram() != nil:
				all[name] = float64(m.GetHistogram().GetSampleCount())
			case m.GetCounter() != nil:
				all[name] = m.GetCounter().GetValue()
			default:
				all[name] = m.GetGauge().GetValue()
			}
		}
	}
	return all
}

func want(t *testing.T, c prometheus.Collector, wanted map[string]float64) {
	t.Helper()
	all := values(t, c)
	for name, value := range wanted {
		if got, ok := all[name]; !ok || got != value {
			t.Errorf("%s is %v (there: %v): want %v", name, got, ok, value)
		}
	}
}

func TestLocksAreCounted(t *testing.T) {
	r := redlockprom.New()
	inBubble(t, 5, r, redlock.GuardOff, func(t *testing.T, c *redlock.Client, masters []*simmaster.Master) {
		ctx := t.Context()
		l, err := c.Lock(ctx, "key", redlock.WithTTL(9*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		want(t, r, map[string]float64{"redlock_held": 1, "redlock_waiting": 0})

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
		want(t, r, map[string]float64{"redlock_waiting": 1, `redlock_retries_total{reason="taken"}`: 2})
		<-done
		_ = l.Unlock(ctx)

		flush := func() {
			for _, m := range masters {
				m.FlushAll()
			}
		}
		flush()
		gone, err := c.Lock(ctx, "other")
		if err != nil {
			t.Fatal(err)
		}
		flush()
		_ = gone.Unlock(ctx)
		for _, m := range masters[:3] {
			m.Kill()
		}
		synctest.Wait()
		_, _ = c.TryLock(ctx, "key")
		time.Sleep(time.Second)

		want(t, r, map[string]float64{
			"redlock_held":                                      0,
			"redlock_waiting":                                   0,
			"redlock_contended_total":                           2,
			"redlock_reentered_total":                           1,
			`redlock_attempts_total{result="acquired"}`:         2,
			`redlock_attempts_total{result="taken"}`:            4,
			`redlock_attempts_total{result="no_quorum"}`:        1,
			`redlock_wait_seconds{result="acquired"}`:           2,
			`redlock_wait_seconds{result="taken"}`:              2,
			`redlock_wait_seconds{result="no_quorum"}`:          1,
			`redlock_hold_seconds{end="unlocked"}`:              1,
			`redlock_hold_seconds{end="lost"}`:                  1,
			`redlock_losses_total{reason="expired"}`:            1,
			`redlock_losses_total{reason="closed"}`:             0,
			`redlock_extensions_total{op="verify",result="ok"}`: 1,
			`redlock_extensions_total{op="extend",result="ok"}`: 1,
			`redlock_unlock_seconds{result="released"}`:         2,
			`redlock_unlock_seconds{result="not_held"}`:         1,
			`redlock_renewals_total{result="failed"}`:           0,
		})
		for _, name := range []string{`redlock_renewals_total{result="ok"}`, "redlock_renewal_seconds"} {
			if n := values(t, r)[name]; n != 3 && n != 4 {
				t.Errorf("%s is %v", name, n)
			}
		}
	})
}

func TestAHoldThatEndsAsPlannedIsNoLoss(t *testing.T) {
	r := redlockprom.New()
	inBubble(t, 3, r, redlock.GuardOff, func(t *testing.T, c *redlock.Client, _ []*simmaster.Master) {
		l, err := c.Lock(t.Context(), "key", redlock.WithLease(5*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		<-l.Context().Done()
		synctest.Wait()
		want(t, r, map[string]float64{
			"redlock_held":                           0,
			`redlock_hold_seconds{end="planned"}`:    1,
			`redlock_losses_total{reason="expired"}`: 0,
		})
	})
}

func TestMastersAreShownOnceAClientIsObserved(t *testing.T) {
	r := redlockprom.New()
	inBubble(t, 3, r, redlock.GuardStandard, func(t *testing.T, c *redlock.Client, masters []*simmaster.Master) {
		l, err := c.Lock(t.Context(), "key", redlock.WithFencing())
		if err != nil {
			t.Fatal(err)
		}
		for name := range values(t, r) {
			if strings.HasPrefix(name, "redlock_master_connected") || name == "redlock_quorum_masters" {
				t.Errorf("nobody is observed yet: %s", name)
			}
		}
		r.Observe(c)
		synctest.Wait() // for the answers that no call waited for
		masters[2].Kill()
		synctest.Wait()
		_ = l.Unlock(t.Context())
		synctest.Wait() // the last reply may be reported after Unlock has returned
		names := c.Masters()
		of := func(metric string, master int, more string) string {
			return fmt.Sprintf("%s{master=%q%s}", metric, names[master].Master, more)
		}
		want(t, r, map[string]float64{
			"redlock_quorum_masters":                                   2,
			"redlock_fencing_tokens_total":                             1,
			"redlock_fencing_second_rounds_total":                      0,
			of("redlock_master_connected", 0, ""):                      1,
			of("redlock_master_connected", 2, ""):                      0,
			of("redlock_master_votes", 0, ""):                          1,
			of("redlock_master_votes", 2, ""):                          0,
			of("redlock_master_quarantine_seconds", 0, ""):             0,
			of("redlock_master_in_flight", 0, ""):                      0,
			of("redlock_master_replies_total", 0, `,result="agreed"`):  2,
			of("redlock_master_replies_total", 0, `,result="timeout"`): 0,
			"redlock_events_dropped_total":                             0,
		})
		offset, ok := values(t, r)[of("redlock_master_clock_offset_seconds", 0, "")]
		if !ok || math.Abs(offset) > 0.001 {
			t.Errorf("clock offset %v, there: %v", offset, ok)
		}
		masters[0].Freeze()
		_, _ = c.TryLock(t.Context(), "key")
		masters[0].Thaw()
		synctest.Wait()
		want(t, r, map[string]float64{
			of("redlock_master_replies_total", 0, `,result="timeout"`): 1,
			of("redlock_master_replies_total", 2, `,result="failed"`):  1,
		})
		_ = c.Close()
		want(t, r, map[string]float64{of("redlock_master_connected", 0, ""): 0})
	})
}

func TestNobodyWaitsInAnyClassWhenAllCallsHaveEnded(t *testing.T) {
	r := redlockprom.New(redlockprom.WithClasses(func(key string) string { return key }))
	inBubble(t, 3, r, redlock.GuardOff, func(t *testing.T, c *redlock.Client, _ []*simmaster.Master) {
		for range 2 {
			if _, err := c.LockAny(t.Context(), []string{"a", "b"}); err != nil {
				t.Fatal(err)
			}
		}
		want(t, r, map[string]float64{
			`redlock_waiting{class="a"}`: 0, `redlock_waiting{class="b"}`: 0,
			`redlock_held{class="a"}`: 1, `redlock_held{class="b"}`: 1,
			`redlock_wait_seconds{class="a",result="acquired"}`: 2,
		})
	})
}

func TestClassesAreBounded(t *testing.T) {
	r := redlockprom.New(redlockprom.WithClasses(func(key string) string {
		class, _, _ := strings.Cut(key, ":")
		return class
	}))
	trace := r.Trace()
	for i := range redlockprom.MaxClasses + 10 {
		trace.Attempt(redlock.AttemptInfo{Key: fmt.Sprintf("class%d:%d", i, i)})
	}
	trace.Attempt(redlock.AttemptInfo{Key: "class0:1", Err: redlock.ErrTaken})
	trace.Attempt(redlock.AttemptInfo{Key: "a\"\\\n:\xff"})
	want(t, r, map[string]float64{
		`redlock_attempts_total{class="class0",result="acquired"}`: 1,
		`redlock_attempts_total{class="class0",result="taken"}`:    1,
		`redlock_attempts_total{class="other",result="acquired"}`:  11,
	})
	odd := redlockprom.New(redlockprom.WithClasses(func(key string) string { return key }))
	odd.Trace().Attempt(redlock.AttemptInfo{Key: "a\xff"})
	want(t, odd, map[string]float64{`redlock_attempts_total{class="a?",result="acquired"}`: 1})
}

// Series start with 0: otherwise the first event would be no increase, and alerts for rare
// events would not fire.
func TestEverySeriesAboutLocksIsThereBeforeTheFirstEvent(t *testing.T) {
	want := map[string]int{
		"redlock_waiting": 1, "redlock_held": 1, "redlock_attempts_total": 5, "redlock_retries_total": 2,
		"redlock_contended_total": 1, "redlock_reentered_total": 1, "redlock_wait_seconds": 5, "redlock_hold_seconds": 5,
		"redlock_losses_total": 4, "redlock_unlock_seconds": 3, "redlock_renewals_total": 3, "redlock_renewal_seconds": 1,
		"redlock_extensions_total": 6,
	}
	for _, f := range gather(t, redlockprom.New()) {
		if n, ok := want[f.GetName()]; !ok || len(f.GetMetric()) != n {
			t.Errorf("%s has %d series, want %d", f.GetName(), len(f.GetMetric()), n)
		}
		delete(want, f.GetName())
		for _, m := range f.GetMetric() {
			if m.GetCounter().GetValue() != 0 || m.GetGauge().GetValue() != 0 || m.GetHistogram().GetSampleCount() != 0 {
				t.Errorf("%s has counted something: %v", f.GetName(), m)
			}
		}
	}
	if len(want) != 0 {
		t.Errorf("not gathered: %v", want)
	}
}

func TestEverySeriesAboutMastersIsThereBeforeTheFirstReply(t *testing.T) {
	r := redlockprom.New()
	inBubble(t, 3, r, redlock.GuardOff, func(t *testing.T, c *redlock.Client, _ []*simmaster.Master) {
		r.Observe(c)
		for _, m := range c.Masters() {
			want(t, r, map[string]float64{
				fmt.Sprintf(`redlock_master_replies_total{master=%q,result="timeout"}`, m.Master): 0,
				fmt.Sprintf(`redlock_master_reply_seconds{master=%q}`, m.Master):                  0,
			})
		}
	})
}

// The names, types, units and help texts follow the rules of Prometheus.
func TestPromlintFindsNothing(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(worked(t))
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) != 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// worked is the collector of a client that has acquired a lock and is closed. It exports all
// metrics.
func worked(t *testing.T) *redlockprom.Collector {
	t.Helper()
	r := redlockprom.New()
	inBubble(t, 3, r, redlock.GuardStandard, func(t *testing.T, c *redlock.Client, _ []*simmaster.Master) {
		r.Observe(c)
		if err := c.Do(t.Context(), "invoice:1", func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

func TestCountingDoesNotAllocate(t *testing.T) {
	r := redlockprom.New()
	inBubble(t, 3, r, redlock.GuardOff, func(t *testing.T, c *redlock.Client, _ []*simmaster.Master) {
		l, err := c.Lock(t.Context(), "key")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		trace, ctx, lost := r.Trace(), t.Context(), &redlock.LostError{Reason: redlock.ReasonExpired}
		if n := testing.AllocsPerRun(100, func() {
			trace.Begin(ctx, redlock.BeginInfo{})
			trace.Attempt(redlock.AttemptInfo{})
			trace.Retry(redlock.AttemptInfo{Err: redlock.ErrTaken})
			trace.Wait(redlock.WaitInfo{Attempts: 2})
			trace.Held(ctx, l)
			trace.Renewal(redlock.ExtendInfo{})
			trace.Extend(redlock.ExtendInfo{Op: "verify"})
			trace.Released(redlock.ReleasedInfo{Lost: lost})
			trace.Unlock(redlock.UnlockInfo{})
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
