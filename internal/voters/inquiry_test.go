package voters

import (
	"errors"
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
)

// Another connection may lead to another process. Its answers say nothing about the first process.
func TestAnAnswerByAnotherConnectionTellsNothingOfTheMaster(t *testing.T) {
	const asked = 7
	clock := drift.NewFake(time.Unix(1e9, 0))
	fields := []string{"3", "run", "replid", "0", "0", "30000", "1", "standard", "0", "declared", "", "", "", ""}
	marker := []any{[]byte("SAME"), clock.Now().Wall().UnixMicro()}
	for _, field := range fields {
		marker = append(marker, []byte(field))
	}
	for name, test := range map[string]struct {
		info, script uint64 // the connections that carried the answers
		read         bool   // INFO counts
		want         guard.Verdict
	}{
		"all by the connection that was asked":  {asked, asked, true, guard.Same},
		"the script's by a later one":           {asked, asked + 1, true, guard.None},
		"the script's by an earlier one":        {asked, asked - 1, true, guard.None},
		"that of INFO by a later one":           {asked + 1, asked, false, guard.None},
		"all by a later one":                    {asked + 1, asked + 1, false, guard.None},
		"none by any connection, as it appears": {0, 0, false, guard.None},
	} {
		g := &Monitor{cfg: Config{Group: &quorum.Group{Clock: clock}}, masters: []masterState{{epoch: asked, run: "run"}}}
		q := &inquiry{g: g, epoch: asked, purpose: askLook, script: callWrite + 1, sent: clock.Now()}
		for range infoSections {
			q.calls = append(q.calls, pipeline.Call{Epoch: test.info, Reply: []byte("run_id:run\r\n")})
		}
		for range lookCalls - len(infoSections) { // the last but one has the marker
			q.calls = append(q.calls, pipeline.Call{Epoch: test.script, Reply: marker})
		}
		w := &g.masters[0]
		q.conclude(w)
		if w.looked != test.read || w.facts.Marker.Verdict != test.want {
			t.Errorf("%s: INFO was read: %v, the marker is %v: want %v, %v", name, w.looked, w.facts.Marker.Verdict, test.read, test.want)
		}
		if failed := test.want == guard.None; w.failed != failed || failed != errors.Is(w.facts.MarkerErr, pipeline.ErrConnectionLost) {
			t.Errorf("%s: it has failed: %v, %v", name, w.failed, w.facts.MarkerErr)
		}
	}
}
