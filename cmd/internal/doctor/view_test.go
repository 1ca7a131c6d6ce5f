package doctor

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/testutil"
	"github.com/redquorum/redquorum/drift"
)

func TestAReportIsAsInItsGoldenFiles(t *testing.T) {
	t.Parallel()
	good, bad := healthy(3), healthy(3)
	bad[1].Offset = drift.Span{Low: time.Minute, High: time.Minute + 300*time.Microsecond}
	down(&bad[2], errors.New("odd\x1b[31m error of redis://:secret@h"))
	bad[0].Info["maxmemory_policy"], bad[0].GuardFacts.Info.Policy = "allkeys-lru", "allkeys-lru"
	bad[1].Missing = []Permission{{Rule: "+zadd", For: "read-write locks"}, {Rule: "&redquorum:w:1:*", For: "waiting without polling"}}
	bad[1].Config, bad[1].ConfigErr = nil, errors.New("NOPERM")
	delete(bad[1].Info, "aof_enabled")
	for name, facts := range map[string][]Facts{"doctor-good": good, "doctor-bad": bad} {
		verdict, found := judge(facts, 0, 0)
		report := NewReport(facts, verdict, found)
		var text bytes.Buffer
		if err := (&doctorView{out: &text}).print(report); err != nil {
			t.Error(err)
		}
		if s := text.String(); strings.Contains(s, "secret") || strings.Contains(s, "\x1b") {
			t.Errorf("%q", s)
		}
		testutil.Golden(t, name, text.String())
	}
}
