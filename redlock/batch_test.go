package redlock_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/redquorum/redquorum/internal/script"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// many locks that are released at one instant.
const many = 100

// lockEach holds many keys, each waited for by another client.
func lockEach(t *testing.T, s *sim, wanted bool) (held []*redlock.Lock, waiting []*queuer) {
	t.Helper()
	c, other := s.open(), s.open()
	for i := range many {
		key := fmt.Sprint("key-", i)
		held = append(held, mustLock(t, c, key))
		if wanted {
			waiting = append(waiting, s.queue(other, key))
		}
	}
	synctest.Wait()
	return held, waiting
}

func unlockAll(t *testing.T, held []*redlock.Lock) {
	t.Helper()
	var wg sync.WaitGroup
	for _, l := range held {
		wg.Go(func() {
			if err := l.Unlock(t.Context()); err != nil {
				t.Errorf("%s: %v", l.Key(), err)
			}
		})
	}
	wg.Wait()
	synctest.Wait()
}

// Releases that go to a master together take it few commands.
func TestReleasesOfOneFlushAreJoined(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"as ever", "without scripts"} {
		t.Run(how, func(t *testing.T) {
			inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
				held, _ := lockEach(t, s, false)
				if how != "as ever" {
					s.do("SCRIPT", "FLUSH")
				}
				before := s.All[0].Commands()
				unlockAll(t, held)
				after := s.All[0].Commands()
				joined := after["EVALSHA"]-before["EVALSHA"] < many/2 && after["EVAL"] == before["EVAL"]
				if how == "as ever" && !joined {
					t.Errorf("%d and %d commands for %d releases", after["EVALSHA"]-before["EVALSHA"], after["EVAL"]-before["EVAL"], many)
				}
				s.wantClean()
			})
		})
	}
}

// Acquisitions by a script that go to a master together take it few commands; of
// those that are rolled back nothing is left.
func TestGuardedAcquisitionsOfOneFlushAreJoined(t *testing.T) {
	for name, opts := range map[string][]redlock.Option{"fencing": nil, "strict": {redlock.WithStrict()}} {
		for _, how := range []string{"as ever", "without scripts"} {
			t.Run(name+" "+how, func(t *testing.T) {
				inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
					c := s.open(opts...)
					for i := range many / 4 { // nobody gets these
						for _, m := range s.All[:3] {
							_ = m.Set(fmt.Sprint("key-", i), "another's", 0)
						}
					}
					if how != "as ever" {
						s.do("SCRIPT", "FLUSH")
					}
					before := s.All[0].Commands()
					var wg sync.WaitGroup
					held := make([]*redlock.Lock, many)
					for i := range held {
						wg.Go(func() {
							l, err := c.TryLock(t.Context(), fmt.Sprint("key-", i), redlock.WithFencing())
							if i < many/4 {
								wantExactly(t, err, redlock.ErrTaken)
							} else if err != nil {
								t.Error(err)
							}
							held[i] = l
						})
					}
					wg.Wait()
					synctest.Wait()
					after := s.All[0].Commands()
					// Of those that fail holders are asked for, and releases are sent to two.
					if n := after["EVALSHA"] - before["EVALSHA"]; how == "as ever" && n > many/2+many/4 {
						t.Errorf("%d commands for %d acquisitions", n, many)
					}
					tokens := make(map[uint64]bool)
					for i, l := range held[many/4:] {
						if l == nil || l.Fence() == 0 || s.holders(l.Key(), l.Token()) != 5 {
							t.Fatalf("%d: %+v", i, l)
						}
						tokens[l.Fence()] = true
					}
					for i := range many / 4 {
						if n := s.holders(fmt.Sprint("key-", i), "another's"); n != 3 {
							t.Errorf("key-%d: another's on %d masters", i, n)
						}
					}
					unlockAll(t, held[many/4:])
					for i := range many / 4 {
						s.do("DEL", fmt.Sprint("key-", i))
					}
					for _, key := range s.leftovers() {
						if !strings.HasPrefix(key, "redquorum:fence:") {
							t.Errorf("%s is left", key)
						}
					}
				})
			})
		}
	}
}

// A forbiddingConn has its master not know the command of a batch.
type forbiddingConn struct{ net.Conn }

func (c forbiddingConn) Write(p []byte) (int, error) {
	batch := "EVALSHA\r\n$40\r\n" + script.AcquireBatch.SHA
	if _, err := c.Conn.Write(bytes.ReplaceAll(p, []byte(batch), []byte(strings.Replace(batch, "EVALSHA", "UNKNOWN", 1)))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Refused otherwise than for want of the script, each is asked alone, by the hash
// that its master knows.
func TestWhereBatchesAreForbiddenEachIsAskedAlone(t *testing.T) {
	t.Parallel()
	inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
		dial := s.Dialer()
		c := s.open(redlock.WithPool(pool.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return forbiddingConn{conn}, nil
		})))
		before := s.All[0].Commands()
		var wg sync.WaitGroup
		held := make([]*redlock.Lock, many)
		for i := range held {
			wg.Go(func() {
				l, err := c.TryLock(t.Context(), fmt.Sprint("key-", i), redlock.WithFencing())
				if err != nil {
					t.Error(err)
				}
				held[i] = l
			})
		}
		wg.Wait()
		synctest.Wait()
		after := s.All[0].Commands()
		if n := after["EVALSHA"] - before["EVALSHA"]; n != many {
			t.Errorf("%d of %d were asked by hash", n, many)
		}
		if n := after["EVAL"] - before["EVAL"]; n != 0 {
			t.Errorf("%d were asked by their whole script", n)
		}
		unlockAll(t, held)
		s.wantNoLocks()
	})
}
