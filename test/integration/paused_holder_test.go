package integration

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// A process stands still for longer than its TTL. When it goes on, it finds its lock
// lost before anything else. It does no harm to the new holder.
func TestAHolderThatWasPausedFindsItsLockLost(t *testing.T) {
	const ttl = time.Second
	p := startProcesses(t, five)
	c := p.open()
	holder := startChild(t)
	if r := holder.tell(order{Do: "lock", URLs: p.urls, Key: "lock", TTL: ttl}); r.Failed != "" {
		t.Fatalf("the child's lock: %+v", r)
	}
	holder.stop()
	p.wantFree("lock")
	next := mustTry(t, c, "lock", redlock.WithTTL(longTTL))
	eventually(t, "all have the key", func() bool { return p.holders("lock", next.Token()) == five })
	holder.goOn()
	if r := holder.tell(order{Do: "look"}); !slices.Equal(r.Is, []string{redlock.ErrLost.Error()}) {
		t.Errorf("the child's lock after the pause: %+v, want it lost", r)
	}
	lost := []string{redlock.ErrLost.Error(), redlock.ErrNotHeld.Error()}
	if r := holder.tell(order{Do: "extend"}); !slices.Equal(r.Is, lost) {
		t.Errorf("the child's extension after the pause: %+v, want it lost and not held", r)
	}
	if r := holder.tell(order{Do: "unlock"}); !slices.Equal(r.Is, lost) {
		t.Errorf("the child's release after the pause: %+v, want it lost and not held", r)
	}
	if err := next.Verify(context.Background()); err != nil {
		t.Errorf("the next holder: %v", err)
	}
	if n := p.holders("lock", next.Token()); n != five {
		t.Errorf("%d masters have the next holder's token", n)
	}
	mustUnlock(t, next)
	p.wantFree("lock")
}

// One that stands still between the question and the answers must not believe
// them: a quorum has granted, and the TTL is over.
func TestAnAttemptThatWasPausedFails(t *testing.T) {
	const ttl = 2 * time.Second
	p := startProcesses(t, five)
	p.trusting = true
	asker := startChild(t)
	if r := asker.tell(order{Do: "open", URLs: p.urls}); r.Failed != "" {
		t.Fatalf("the child's client: %+v", r)
	}
	p.freeze(0, 1, 2)
	asker.give(order{Do: "lock", Key: "lock", TTL: ttl})
	eventually(t, "the others have granted", func() bool { return p.value(3, "lock") != "" && p.value(4, "lock") != "" })
	asker.stop()
	p.thaw(0, 1, 2)
	for i := range 3 {
		eventually(t, "a late master has granted", func() bool { return p.calls(i, "set") == 1 })
	}
	p.wantFree("lock")
	asker.goOn()
	if r := asker.report("lock"); !slices.Equal(r.Is, []string{redlock.ErrNoQuorum.Error()}) {
		t.Errorf("the child's attempt after the pause: %+v, want no quorum", r)
	}
	p.wantFree("lock")
}
