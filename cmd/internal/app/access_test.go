package app

import (
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/rig"
)

func TestMastersThatAreBeingConnectedAreAwaited(t *testing.T) {
	t.Parallel()
	c := rig.Cluster(t, 3)
	slow := c.Masters()[2]
	slow.Freeze() // accepts, and does not greet
	client := rig.Opened(t, c)
	var seen []int
	AwaitMasters(t.Context(), client, func(up, unknown, _ int) bool {
		seen = append(seen, unknown)
		if up == 2 {
			slow.Thaw()
		}
		return unknown == 0
	})
	for _, m := range client.Masters(t.Context()) {
		if !m.Connected {
			t.Errorf("%s was not awaited: %v, seen %v", m.Master, m.Err, seen)
		}
	}
}

func TestAMasterThatIsGoneIsNotAwaited(t *testing.T) {
	t.Parallel()
	c := rig.Cluster(t, 3)
	c.Masters()[2].Kill()
	client := rig.Opened(t, c)
	began := time.Now()
	AwaitMasters(t.Context(), client, func(_, unknown, _ int) bool { return unknown == 0 })
	if took := time.Since(began); took >= ConnectBound {
		t.Errorf("waited %v", took)
	}
}
