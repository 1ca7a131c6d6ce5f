package redlockotel_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/redquorum/redquorum/redlock"
)

// values are all sums and gauges, and the counts of histograms, by name and attributes.
func (b *bench) values() map[string]string {
	b.t.Helper()
	var data metricdata.ResourceMetrics
	if err := b.reader.Collect(b.t.Context(), &data); err != nil {
		b.t.Fatal(err)
	}
	all := make(map[string]string)
	set := func(name string, attrs attribute.Set, value any) {
		all[strings.TrimSpace(name+text(attrs.ToSlice()))] = fmt.Sprint(value)
	}
	for _, s := range data.ScopeMetrics {
		for _, m := range s.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					set(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					set(m.Name, p.Attributes, p.Count)
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					set(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range d.DataPoints {
					set(m.Name, p.Attributes, p.Value > 0)
				}
			}
		}
	}
	return all
}

func TestLocksAreCounted(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		if err := b.telemetry.Observe(b.client); err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		l, err := b.client.Lock(ctx, "key")
		if err != nil {
			t.Fatal(err)
		}
		if now := b.values(); now["redlock.held"] != "1" || now["redlock.waiting"] != "0" {
			t.Errorf("held %s, waiting %s", now["redlock.held"], now["redlock.waiting"])
		}
		_, _ = b.client.TryLock(ctx, "key")
		_ = l.Unlock(ctx)
		leased, err := b.client.Lock(ctx, "lease", redlock.WithLease(300*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		<-leased.Context().Done()
		reports := b.client.Masters()
		wanted := map[string]string{
			"redlock.held": "0",
			"redlock.attempts redlock.result=acquired":                     "2",
			"redlock.attempts redlock.result=taken":                        "1",
			"redlock.wait.duration redlock.result=acquired":                "2",
			"redlock.wait.duration redlock.result=taken":                   "1",
			"redlock.hold.duration redlock.end=unlocked":                   "1",
			"redlock.hold.duration redlock.end=planned":                    "1",
			"redlock.unlock.duration redlock.result=released":              "1",
			"redlock.master.connected redlock.master=" + reports[0].Master: "1",
			"redlock.events.dropped":                                       "0",
		}
		synctest.Wait()
		now := b.values()
		for name, value := range wanted {
			if now[name] != value {
				t.Errorf("%s is %s: want %s", name, now[name], value)
			}
		}
		agreed := 0
		for _, r := range reports {
			n, _ := strconv.Atoi(now["redlock.master.replies redlock.master="+r.Master+" redlock.result=agreed"])
			agreed += n
		}
		// All masters agreed to two locks and an unlock. The refused attempt also asked the two
		// masters that decided it who holds the key.
		if agreed != 3*len(reports)+2 {
			t.Errorf("masters have agreed %d times", agreed)
		}
		if n, ok := now["redlock.losses redlock.reason=expired"]; ok {
			t.Errorf("%s leases that ended count as losses", n)
		}
	})
}
