package simmaster

import (
	"regexp"
	"testing"

	"github.com/gomodule/redigo/redis"
)

func TestAnotherHistoryLeavesTheProcessAndItsDataAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, m *Master, c redis.Conn) {
		replID := func() string { t.Helper(); return field(t, do(t, c, "INFO", "replication"), "master_replid") }
		do(t, c, "SET", "k", "v")
		before, run := replID(), m.RunID()
		if err := m.NewHistory(); err != nil {
			t.Fatal(err)
		}
		after := replID()
		if after == before || !regexp.MustCompile(`^[0-9a-f]{40}$`).MatchString(after) {
			t.Fatalf("the history is %q, before %q", after, before)
		}
		equal(t, "run_id", m.RunID(), run)
		equal(t, "CLIENT ID", do(t, c, "CLIENT", "ID"), 1)
		equal(t, "GET", do(t, c, "GET", "k"), "v")
	})
}

// It answers CLUSTER like a server outside of a cluster, so that clients go on without one.
func TestAMasterIsNoCluster(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *Master, c redis.Conn) {
		for _, sub := range []string{"SLOTS", "SHARDS", "NODES"} {
			if reply, err := c.Do("CLUSTER", sub); err == nil || err.Error() != "ERR This instance has cluster support disabled" {
				t.Errorf("CLUSTER %s: %v, %v", sub, reply, err)
			}
		}
	})
}
