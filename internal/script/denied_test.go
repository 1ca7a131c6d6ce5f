package script

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
)

// withUsers connects to a master with users noget, nozrem and noexists, which may run all other
// commands.
func withUsers(t *testing.T) *lua {
	redistest.Need(t, redistest.ACL)
	conn, err := redistest.Start(t, 1, redistest.Config{}).Masters[0].Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	m := &lua{t, conn}
	for _, command := range []string{"get", "zrem", "exists"} {
		m.do("ACL", "SETUSER", "no"+command, "on", "nopass", "~*", "&*", "+@all", "-"+command)
	}
	return m
}

// as runs a script as a user.
func (m *lua) as(user string, s *Script, keys []string, args ...any) (any, error) {
	m.do("AUTH", user, "")
	defer m.do("AUTH", "default", "")
	return m.conn.Do("EVAL", s.EvalArgs(s.Args(nil, keys, args...))...)
}

// A command that the user may not run says nothing about who holds the lock.
func TestARefusedCommandIsAnErrorAndNotAnotherHolder(t *testing.T) {
	m := withUsers(t)
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
		reply, err := m.as(test.user, test.script, test.keys, test.args...)
		if err == nil || !strings.Contains(err.Error(), "can't run this command") && !strings.Contains(err.Error(), "no permissions to run") {
			t.Errorf("%s without what %s lacks: %v, %v; want the refusal", test.script.Name, test.user, reply, err)
		}
	}
}

// A failure after the release must not hide the release.
func TestALockIsReleasedWhereItsQueueMayNotBeLookedAt(t *testing.T) {
	m := withUsers(t)
	for _, test := range []struct {
		script *Script
		args   []any
		want   string
	}{
		{Queue, []any{"release", "client", ours}, "1"},
		{ReleaseBatch, []any{ours, "client"}, "[1]"},
	} {
		m.do("SET", "k", ours, "PX", 60_000)
		reply, err := m.as("noexists", test.script, []string{"k", "q"}, test.args...)
		if err != nil || fmt.Sprint(reply) != test.want {
			t.Errorf("%s: %v, %v, want %s", test.script.Name, reply, err, test.want)
		}
	}
}
