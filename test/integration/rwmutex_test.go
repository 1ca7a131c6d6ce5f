package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/acl"
	"github.com/redquorum/redquorum/redlock"
)

// mustRead acquires for reading in one attempt.
func mustRead(t *testing.T, c *redlock.Client, key string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	l, err := c.RWMutex(key).TryRLock(context.Background(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Without the permissions for queues, readers acquire and release as with them. The last one tries
// to look whether anybody waits: only that is refused.
func TestAUserOfReadWriteLocksNeedsFewPermissions(t *testing.T) {
	p := startConfigured(t, locker("~lock* resetchannels -@all "+permitted(acl.Locks, acl.Holders, acl.Readers, acl.Guard, acl.Handshake)), five)
	c := p.open(redlock.WithTTL(longTTL))
	ctx := context.Background()
	r := mustRead(t, c, "lock")
	_, err := c.RWMutex("lock").Lock(ctx, redlock.WithTries(2)) // notes an intent
	wantExactly(t, "Lock beside a reader", err, redlock.ErrTaken)
	if err := errors.Join(r.Extend(ctx), r.Verify(ctx)); err != nil {
		t.Error(err)
	}
	mustUnlock(t, r)
	p.wantFree("lock")
	mustUnlock(t, mustTry(t, c, "lock"))
	p.wantFree("lock")
	p.wantOnlyQueuesRefused()
}

// wantOnlyQueuesRefused fails if something was refused that is not for queues.
func (m *masters) wantOnlyQueuesRefused() {
	m.t.Helper()
	m.each(func(i int) {
		for _, entry := range m.refused(i) {
			pairs, err := redis.Values(entry, nil)
			if err != nil {
				m.t.Fatal(err)
			}
			facts := make(map[string]string)
			for k := 0; k+1 < len(pairs); k += 2 {
				facts[fmt.Sprintf("%s", pairs[k])] = fmt.Sprintf("%s", pairs[k+1])
			}
			if facts["reason"] == "command" && slices.Contains([]string{"mget", "zrangebyscore", "zrevrangebyscore"}, facts["object"]) {
				continue // the guard's probe tries what other kinds of locks need
			}
			if facts["reason"] != "key" || !strings.HasPrefix(facts["object"], "redquorum:q:1:") {
				m.t.Errorf("master %d refused to the user: %q", i, facts)
			}
		}
	})
}
