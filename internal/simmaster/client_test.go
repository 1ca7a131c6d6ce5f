package simmaster

import (
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
)

func TestClientKillClosesThatConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		killer, victim, bystander := dial(t, m), dial(t, m), dial(t, m)
		id := do(t, victim, "CLIENT", "ID")
		equal(t, "killed", do(t, killer, "CLIENT", "KILL", "ID", id), 1)
		if _, err := victim.Do("PING"); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			t.Fatalf("the victim's connection: %v", err)
		}
		equal(t, "killed again", do(t, killer, "CLIENT", "KILL", "ID", id), 0)
		equal(t, "nobody's id", do(t, killer, "CLIENT", "KILL", "ID", "99"), 0)
		equal(t, "the others", do(t, bystander, "PING"), "PONG")
		synctest.Wait()
		equal(t, "connections", m.Connections(), 2)
	})
}
