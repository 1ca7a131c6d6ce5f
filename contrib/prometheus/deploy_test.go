package redlockprom_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"go.yaml.in/yaml/v3"
)

// The dashboard, the alerts and the documentation use only metrics that are exported.

func file(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

type desc struct {
	name, kind string // gauge, counter or histogram
	labels     []string
}

// exported are the metrics of a client that has acquired a lock, by name.
func exported(t *testing.T) map[string]desc {
	t.Helper()
	all := make(map[string]desc)
	for _, f := range gather(t, worked(t)) {
		d := desc{name: f.GetName(), kind: strings.ToLower(f.GetType().String())}
		for _, l := range f.GetMetric()[0].GetLabel() {
			d.labels = append(d.labels, l.GetName())
		}
		all[d.name] = d
	}
	return all
}

// scraped are the labels that Prometheus adds.
var scraped = []string{"job", "instance"}

var histogram = strings.ToLower(dto.MetricType_HISTOGRAM.String())

var (
	selector  = regexp.MustCompile(`(redlock_[a-z_]+)(\{[^}]*\})?`)
	labelName = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"`)
	grouping  = regexp.MustCompile(`(?:by|on|without|ignoring) \(([^)]*)\)`)
)

// series finds the metric of a series that an expression names. It returns its labels.
func series(all map[string]desc, name string) (labels []string, ok bool) {
	d, ok := all[base(name)]
	if !ok || (d.kind == histogram) == (d.name == name) { // a histogram has no series without a suffix
		return nil, false
	}
	labels = append(slices.Clone(scraped), d.labels...)
	if strings.HasSuffix(name, "_bucket") {
		labels = append(labels, "le")
	}
	return labels, true
}

// checkExpression reports metrics and labels in an expression that do not exist. It returns
// the names of the metrics in it.
func checkExpression(t *testing.T, all map[string]desc, where, expr string) (names []string) {
	t.Helper()
	if strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "{") != strings.Count(expr, "}") {
		t.Errorf("%s: brackets do not match: %s", where, expr)
	}
	var there []string // labels of all series in it
	for _, found := range selector.FindAllStringSubmatch(expr, -1) {
		labels, ok := series(all, found[1])
		if !ok {
			t.Errorf("%s: %s is not exported", where, found[1])
			continue
		}
		names = append(names, found[1])
		there = append(there, labels...)
		for _, label := range labelName.FindAllStringSubmatch(found[2], -1) {
			if !slices.Contains(labels, label[1]) {
				t.Errorf("%s: %s has no label %s", where, found[1], label[1])
			}
		}
	}
	if len(names) == 0 {
		t.Errorf("%s: no metric in %s", where, expr)
	}
	for _, group := range grouping.FindAllStringSubmatch(expr, -1) {
		for label := range strings.SplitSeq(group[1], ",") {
			if label = strings.TrimSpace(label); !slices.Contains(there, label) {
				t.Errorf("%s: no series has the label %s: %s", where, label, expr)
			}
		}
	}
	return names
}

func TestTheDashboardShowsWhatIsExported(t *testing.T) {
	var dashboard struct {
		UID        string
		Templating struct {
			List []struct{ Name, Definition string }
		}
		Panels []struct {
			ID          int
			Type, Title string
			Description string
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr, RefID string }
		}
	}
	if err := json.Unmarshal(file(t, "deploy/grafana/dashboard.json"), &dashboard); err != nil {
		t.Fatal(err)
	}
	all, shown := exported(t), make(map[string]bool)
	ids := make(map[int]bool)
	for _, p := range dashboard.Panels {
		if p.Title == "" || ids[p.ID] || p.GridPos.W < 1 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d %q at %+v", p.ID, p.Title, p.GridPos)
		}
		ids[p.ID] = true
		if p.Type != "row" && (len(p.Targets) == 0 || p.Description == "") {
			t.Errorf("panel %q shows nothing, or does not say what", p.Title)
		}
		for _, target := range p.Targets {
			for _, name := range checkExpression(t, all, p.Title, target.Expr) {
				shown[base(name)] = true
			}
		}
	}
	for _, v := range dashboard.Templating.List {
		if v.Definition != "" {
			checkExpression(t, all, "variable "+v.Name, v.Definition)
		}
	}
	if dashboard.UID == "" || len(shown) < len(all)-1 { // re-entered calls may be left out
		t.Errorf("%d of %d metrics are shown", len(shown), len(all))
	}
}

// base is the name of the metric that a series belongs to.
func base(name string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if cut, ok := strings.CutSuffix(name, suffix); ok {
			return cut
		}
	}
	return name
}

// runbookURL is the page that says what to do about an alert.
const runbookURL = "https://github.com/redquorum/redquorum/blob/main/docs/how-to/runbook.md"

func TestTheAlertsWatchWhatIsExported(t *testing.T) {
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(file(t, "deploy/grafana/alerts.yaml"))))
	decoder.KnownFields(true)
	if err := decoder.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	all, seen := exported(t), make(map[string]bool)
	runbook := string(file(t, "docs/how-to/runbook.md"))
	documentation := string(file(t, "docs/reference/metrics.md"))
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			checkExpression(t, all, r.Alert, r.Expr)
			if r.Alert == "" || seen[r.Alert] || r.Annotations["summary"] == "" || r.Annotations["description"] == "" ||
				!slices.Contains([]string{"warning", "critical"}, r.Labels["severity"]) {
				t.Errorf("%+v", r)
			}
			seen[r.Alert] = true
			if want := runbookURL + "#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
				t.Errorf("%s: the runbook is at %q: want %q", r.Alert, r.Annotations["runbook_url"], want)
			}
			if !strings.Contains(runbook, "\n## "+r.Alert+"\n") {
				t.Errorf("docs/how-to/runbook.md has no section %s", r.Alert)
			}
			if _, err := time.ParseDuration(r.For); r.For != "" && err != nil {
				t.Errorf("%s: %v", r.Alert, err)
			}
		}
	}
	for _, name := range regexp.MustCompile("`(Redlock[A-Za-z]+)`").FindAllStringSubmatch(documentation, -1) {
		if !seen[name[1]] {
			t.Errorf("docs/reference/metrics.md names the alert %s, which is not there", name[1])
		}
	}
	for _, title := range regexp.MustCompile(`(?m)^## (Redlock\w+)$`).FindAllStringSubmatch(runbook, -1) {
		if !seen[title[1]] {
			t.Errorf("docs/how-to/runbook.md has a section for the alert %s, which is not there", title[1])
		}
	}
	if len(seen) < 10 {
		t.Errorf("%d alerts", len(seen))
	}
}

// Each row of the tables is a metric with its type and labels, and each metric
// has a row.
func TestTheDocumentationListsWhatIsExported(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| `(redlock_[a-z_]+)` \\| ([a-z]+) \\| ([^|]*)\\| (.+) \\|$")
	all, documented := exported(t), make(map[string]bool)
	for _, found := range row.FindAllStringSubmatch(string(file(t, "docs/reference/metrics.md")), -1) {
		d, ok := all[found[1]]
		labels := strings.ReplaceAll(strings.TrimSpace(found[3]), "`", "")
		if !ok || documented[d.name] || d.kind != found[2] || strings.Join(d.labels, ", ") != labels {
			t.Errorf("%s is documented as %s with labels %q, and is %+v", found[1], found[2], labels, d)
		}
		documented[found[1]] = true
	}
	for name := range all {
		if !documented[name] {
			t.Errorf("%s is not documented", name)
		}
	}
}
