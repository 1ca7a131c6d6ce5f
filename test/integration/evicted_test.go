package integration

import (
	"testing"

	"github.com/redquorum/redquorum/internal/guard"
)

// Two masters evict a lock, and their policy is mended while it is held.
func TestMastersThatHaveEvictedALockDoNotVoteWhenTheirPolicyIsMended(t *testing.T) {
	t.Parallel()
	const ttl = 3 * settleBound // nobody waits for it
	for _, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			p := startProcesses(t, 3)
			first, second := p.rivals(level, ttl)
			l := p.onTwo(first, ttl)
			for i := range 2 {
				p.do(i, "CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
				p.do(i, "CONFIG", "SET", "maxmemory", "1")
				for err := error(nil); err == nil; { // which evicts what can be; the last one is refused
					_, err = p.command(i, "SET", "other", "1", "XX")
				}
			}
			awaitStanding(t, second, guard.MayEvict, 0, 1)
			for i := range 2 {
				p.do(i, "CONFIG", "SET", "maxmemory", "0")
				p.do(i, "CONFIG", "SET", "maxmemory-policy", "noeviction")
				if n := p.do(i, "EXISTS", "key", guard.Key); n != int64(1) {
					t.Fatalf("master %d has %v of the lock and the marker, want the marker alone", i, n)
				}
			}
			fresh := p.at(level, ttl)
			eventually(t, "both are in quarantine", func() bool {
				notBeside(t, l, second, fresh)
				return standing(second, 0) == guard.Quarantined && standing(second, 1) == guard.Quarantined
			})
			notBeside(t, l, second, fresh)
			awaitWhy(t, fresh, 0, guard.Quarantined, "it has evicted keys")
		})
	}
}
