package script

import (
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
)

// A command that the user may not run says nothing about who holds the lock.
func TestARefusedCommandIsAnErrorAndNotAnotherHolder(t *testing.T) {
	redistest.Need(t, redistest.ACL)
	conn, err := redistest.Start(t, 1, redistest.Config{}).Masters[0].Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	m := &lua{t, conn}
	m.do("ACL", "SETUSER", "noget", "on", "nopass", "~*", "&*", "+@all", "-get")
	m.do("ACL", "SETUSER", "nozrem", "on", "nopass", "~*", "&*", "+@all", "-zrem")
	const lock, queue, fence, lease = "k", "q", fenceOf + "k", leaseOf + "k"
	guarded := []any{ours, 1000, "1", 1, "", "", 1000} // fenced, not strict
	for _, test := range []struct {
		script *Script
		user   string
		keys   []string
		args   []any
	}{
		{Extend, "noget", []string{lock}, []any{ours, 1000, "1"}},
		{Verify, "noget", []string{lock}, []any{ours}},
		{Release, "noget", []string{lock}, []any{ours}},
		{Queue, "noget", []string{lock, queue}, []any{"release", "client", ours}},
		{Queue, "nozrem", []string{lock, queue, lease}, []any{"release", "client", ours}},
		{Raise, "noget", []string{lock, fence}, []any{ours, 5, 6, 1000}},
		{RaiseKnown, "noget", []string{fence}, []any{6, 1000}},
		{GuardedAcquire, "noget", []string{"free", fenceOf + "free"}, guarded},
		{GuardedExtend, "noget", []string{lock, fence}, guarded},
		{GuardedRelease, "nozrem", []string{lock, lease}, []any{ours}},
		{GuardedReleaseAll, "nozrem", []string{lock, lease}, []any{ours}},
		{ReleaseLeases, "nozrem", []string{lock, lease}, []any{ours, "client"}},
	} {
		m.do("SET", lock, ours, "PX", 60_000)
		m.do("SET", fence, 5)
		m.do("AUTH", test.user, "")
		reply, err := redis.Values(conn.Do("EVAL", test.script.EvalArgs(test.script.Args(nil, test.keys, test.args...))...))
		if err == nil || !strings.Contains(err.Error(), "can't run this command") && !strings.Contains(err.Error(), "no permissions to run") {
			t.Errorf("%s without what %s lacks: %v, %v; want the refusal", test.script.Name, test.user, reply, err)
		}
		m.do("AUTH", "default", "")
	}
}
