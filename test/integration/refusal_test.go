package integration

import (
	"context"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/integration/internal/refusal"
)

// A master that refuses to write has no vote, and the error has its answer. With two such masters
// everything goes on.
func TestAMasterThatRefusesToWriteHasNoVoteAndIsNamed(t *testing.T) {
	t.Parallel()
	for _, r := range refusal.States {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			// holds: a master in this state still serves holders. Some servers let scripts write
			// in one state, and scripts extend and release.
			scripts := r.Word == "NOREPLICAS" && redistest.Missing(redistest.ReplicasForScripts) != nil
			holds := scripts || r.Word == "OOM"
			p := startProcesses(t, five)
			p.trusting = true
			do := func(what func(m *redistest.Server) error, which ...int) {
				t.Helper()
				for _, i := range which {
					if err := what(p.servers[i]); err != nil {
						t.Fatalf("master %d: %v", i, err)
					}
				}
			}
			p.dropFences()
			c := p.open(redlock.WithTTL(longTTL))
			fenced := p.open(redlock.WithTTL(longTTL), redlock.WithFencing())
			ctx := context.Background()
			before := mustTry(t, c, "held")
			eventually(t, "all have the key", func() bool { return p.holders("held", before.Token()) == five })

			do(r.Start, 0, 1)
			l := mustTry(t, c, "lock")
			for _, l := range []*redlock.Lock{before, l} {
				if err := l.Extend(ctx); err != nil {
					t.Errorf("Extend of %s with three that write: %v", l.Key(), err)
				}
			}
			mustUnlock(t, l)

			do(r.Start, 2)
			_, err := c.TryLock(ctx, "lock")
			wantExactly(t, "TryLock with two that write", err, redlock.ErrNoQuorum)
			named := causes(t, err)
			for i := range 3 {
				if cause := named[p.servers[i].Addr()]; cause == nil || !strings.Contains(cause.Error(), r.Word) {
					t.Errorf("master %d says %s, named for %v", i, r.Word, cause)
				}
			}
			// A script acquires this one.
			l, err = fenced.TryLock(ctx, "fenced")
			wantQuorumOf(t, "TryLock of a fenced lock", scripts, err)
			if err == nil {
				mustUnlock(t, l)
			} else if !strings.Contains(err.Error(), r.Word) {
				t.Errorf("masters say %s to a script, and the error %q", r.Word, err)
			}
			wantQuorumOf(t, "Extend", holds, before.Extend(ctx))
			wantQuorumOf(t, "Unlock", holds, before.Unlock(ctx))

			do(r.Finish, 0, 1, 2)
			mustUnlock(t, mustTry(t, c, "lock"))
			p.wantFree("lock")
			p.wantFree("held") // its release was refused, and is sent again
			p.wantFree("fenced")
		})
	}
}

func wantQuorumOf(t *testing.T, what string, all bool, err error) {
	t.Helper()
	if all && err != nil {
		t.Errorf("%s: %v, want success", what, err)
	}
	if !all {
		wantExactly(t, what, err, redlock.ErrNoQuorum)
	}
}
