package integration

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/testutil"
	"github.com/redquorum/redquorum/redlock"
)

// emptiedTTL is long enough for three masters to be restarted half a second apart while a lock
// is held.
const emptiedTTL = 4 * time.Second

// All masters lose everything while clients live on. The clients remember the fleet, so none takes
// it for new.
func TestAnEmptiedFleetIsNotTakenForNewWhileItsClientsLive(t *testing.T) {
	t.Parallel()
	restart := func(apart time.Duration) func(p *processes) {
		return func(p *processes) {
			for i := range p.urls {
				if i > 0 {
					time.Sleep(apart)
				}
				p.kill(i)
				p.restart(i)
			}
		}
	}
	for name, empty := range map[string]func(p *processes){
		"FLUSHALL": func(p *processes) {
			for i := range p.urls {
				p.do(i, "FLUSHALL")
			}
		},
		"restarts":               restart(0),
		"restarts, 200 ms apart": restart(200 * time.Millisecond),
		"restarts, 500 ms apart": restart(500 * time.Millisecond),
	} {
		for _, level := range levels {
			t.Run(name+", "+string(level), func(t *testing.T) {
				t.Parallel()
				p := startProcesses(t, 3)
				first, second := p.rivals(level, emptiedTTL)
				mustUnlock(t, mustTry(t, first, "before"))
				mustUnlock(t, mustTry(t, second, "before"))
				l := mustTry(t, first, "key", redlock.WithLease(emptiedTTL))
				empty(p)
				p.grantsNothing(level, second, l)
				testutil.Within(t, 3*emptiedTTL, "all masters vote after their quarantine", func() bool {
					return standing(second, 0) == votes && standing(second, 1) == votes && standing(second, 2) == votes
				})
				_ = l.Unlock(context.Background())
				mustUnlock(t, mustTry(t, second, "key"))
			})
		}
	}
}

// grantsNothing fails if another client gets the lock while it is held, or if an operator can
// declare the fleet new.
func (p *processes) grantsNothing(level redlock.GuardLevel, other *redlock.Client, l *redlock.Lock) {
	p.t.Helper()
	refused := false
	for l.Remaining() > 0 {
		notBeside(p.t, l, other)
		if refused || !p.known() {
			continue
		}
		refused = true
		err := p.at(level, emptiedTTL).Init(context.Background())
		wantExactly(p.t, "Init", err, redlock.ErrNoQuorum)
		if err != nil && !strings.Contains(err.Error(), "it had a marker and has lost its data") {
			p.t.Errorf("Init says %v", err)
		}
	}
	if !refused {
		p.t.Error("no master says that it had a marker before")
	}
}

// known reports whether all masters say that they had a marker before.
func (p *processes) known() bool {
	for i := range p.urls {
		known, _ := redis.String(p.command(i, "HGET", guard.Sighting, "known"))
		how, _ := redis.String(p.command(i, "HGET", guard.Key, "how"))
		if known != "1" && how != guard.HowEmptied {
			return false
		}
	}
	return true
}

// Two masters evict a lock, and their policy is corrected while the lock is held.
func TestMastersThatEvictedALockAreQuarantinedAfterTheirPolicyIsFixed(t *testing.T) {
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
				for err := error(nil); err == nil; { // this evicts what it can; the last one is refused
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

// A master is emptied, and somebody restores its marker while it runs.
func TestRestoredMarkerDoesNotRestoreTheVote(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			p := startProcesses(t, 3)
			first, second := p.rivals(level, emptiedTTL)
			l := p.onTwo(first, emptiedTTL)
			dump := p.do(0, "DUMP", guard.Key)
			p.do(0, "FLUSHALL")
			if other, err := second.TryLock(context.Background(), "other"); err == nil { // so that it notices now
				mustUnlock(t, other)
			}
			eventually(t, "somebody has seen it without a marker", func() bool {
				n, err := redis.Int(p.command(0, "EXISTS", guard.Sighting))
				return err == nil && n == 1
			})
			p.do(0, "RESTORE", guard.Key, 0, dump, "REPLACE")
			fresh := p.at(level, emptiedTTL)
			said := false
			noteWhy := func() {
				why := second.Masters()[0].Why
				said = said || why != nil && why.Cause == guard.Quarantined && strings.Contains(why.Error(), "a marker of before was put back")
			}
			for l.Remaining() > 0 {
				notBeside(t, l, second, fresh)
				noteWhy()
			}
			_ = l.Unlock(context.Background())
			testutil.Within(t, 3*emptiedTTL, "it votes after its quarantine", func() bool {
				noteWhy()
				return standing(second, 0) == votes && standing(fresh, 0) == votes
			})
			if !said {
				t.Error("nobody has said why it had no vote")
			}
		})
	}
}
