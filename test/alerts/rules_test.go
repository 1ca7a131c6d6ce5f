package alerts

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/teststorage"
	"go.yaml.in/yaml/v3"
)

// A rule is an alert.
type rule struct {
	Alert, Expr string
	For         string
	Labels      map[string]string
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "grafana", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("there are no alerts")
	}
	return all
}

func bound(le float64) string { return strconv.FormatFloat(le, 'g', -1, 64) }

// fired returns the alerts that fire on these samples, in the order of the rules. It evaluates
// them as often as samples were taken.
func fired(t *testing.T, samples []sample) (names []string) {
	t.Helper()
	storage := teststorage.New(t)
	start := time.Unix(1_000_000, 0)
	app := storage.Appender(context.Background())
	last := time.Duration(0)
	for _, s := range samples {
		if _, err := app.Append(0, s.series, start.Add(s.at).UnixMilli(), s.value); err != nil {
			t.Fatal(err)
		}
		last = max(last, s.at)
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{})})
	defer func() { _ = engine.Close() }()
	for _, r := range rules(t) {
		var hold time.Duration
		if r.For != "" {
			var err error
			if hold, err = time.ParseDuration(r.For); err != nil {
				t.Fatal(err)
			}
		}
		since := map[string]time.Duration{} // from when on each series of the alert is pending
		for at := time.Duration(0); at <= last; at += scrapeEvery {
			query, err := engine.NewInstantQuery(context.Background(), storage, nil, r.Expr, start.Add(at))
			if err != nil {
				t.Fatalf("%s: %v", r.Alert, err)
			}
			vector, err := query.Exec(context.Background()).Vector()
			if err != nil {
				t.Fatalf("%s: %v", r.Alert, err)
			}
			now := map[string]time.Duration{}
			for _, s := range vector {
				key := s.Metric.String()
				if now[key] = at; since[key] != 0 {
					now[key] = since[key]
				}
				if at-now[key] >= hold && !slices.Contains(names, r.Alert) {
					names = append(names, r.Alert)
				}
			}
			since = now
			query.Close()
		}
	}
	return names
}
