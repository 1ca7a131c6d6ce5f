package redlockotel_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// All names of spans and metrics are in docs/reference/tracing.md.
func TestTheDocumentationListsWhatIsExported(t *testing.T) {
	documentation, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "tracing.md"))
	if err != nil {
		t.Fatal(err)
	}
	inBubble(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		l, err := b.client.Lock(ctx, "key", redlock.WithRenewal(redlock.Renewal{Every: 10 * time.Millisecond}))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = b.client.Lock(ctx, "key", redlock.WithTries(2))
		if err := errors.Join(b.telemetry.Observe(b.client), l.Verify(ctx), l.Extend(ctx), l.Unlock(ctx)); err != nil {
			t.Fatal(err)
		}
		leased, err := b.client.Lock(ctx, "lease", redlock.WithLease(200*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		<-leased.Context().Done()
		names := make(map[string]bool)
		for _, s := range b.spans.GetSpans() {
			names[s.Name] = true
		}
		for name := range b.values() {
			names[strings.Fields(name)[0]] = true
		}
		if len(names) < 8+9 {
			t.Errorf("only %v are exported", slices.Sorted(maps.Keys(names)))
		}
		for name := range names {
			if !strings.Contains(string(documentation), "`"+name+"`") {
				t.Errorf("%s is not documented", name)
			}
		}
	})
}
