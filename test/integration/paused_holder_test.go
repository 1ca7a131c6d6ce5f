package integration

import (
	"slices"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// One that stands still between the question and the answers must not believe
// them: a quorum has granted, and the TTL is over.
func TestAnAttemptThatWasPausedFails(t *testing.T) {
	t.Parallel()
	const ttl = 2 * time.Second
	p := startProcesses(t, five)
	p.trusting = true
	asker := startChild(t, "holder")
	if r := asker.tell(order{URLs: p.urls}); r.Failed != "" {
		t.Fatalf("the child's client: %+v", r)
	}
	p.freeze(0, 1, 2)
	asker.must(asker.Order(order{Key: "lock", TTL: ttl}))
	eventually(t, "the others have granted", func() bool { return p.value(3, "lock") != "" && p.value(4, "lock") != "" })
	asker.must(asker.Freeze())
	p.thaw(0, 1, 2)
	for i := range 3 {
		eventually(t, "a late master has granted", func() bool { return p.calls(i, "set") == 1 })
	}
	p.wantFree("lock")
	asker.must(asker.Thaw())
	if r := asker.report(); !slices.Equal(r.Is, []string{redlock.ErrNoQuorum.Error()}) {
		t.Errorf("the child's attempt after the pause: %+v, want no quorum", r)
	}
	p.wantFree("lock")
}
