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

// many is the number of locks that are acquired or released at one instant.
const many = 100

var fenced = []redlock.LockOption{redlock.WithFencing()}

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

// tryAtOnce tries to lock many keys at one instant. The first are taken; it returns the others.
func tryAtOnce(t *testing.T, c *redlock.Client, taken int, opts ...redlock.LockOption) (held []*redlock.Lock) {
	t.Helper()
	all := make([]*redlock.Lock, many)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			var err error
			all[i], err = c.TryLock(t.Context(), fmt.Sprint("key-", i), opts...)
			if i < taken {
				wantExactly(t, err, redlock.ErrTaken)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	synctest.Wait()
	return all[taken:]
}

// Acquisitions by a script that reach a master together cost it few commands, and so do releases.
// Rollbacks leave no key behind.
func TestSimultaneousCallsAreBatchedIntoFewCommands(t *testing.T) {
	t.Parallel()
	for level, test := range map[string]struct {
		client []redlock.Option
		lock   []redlock.LockOption
	}{
		"plain": {nil, nil}, "fencing": {nil, fenced}, "strict": {[]redlock.Option{redlock.WithStrict()}, fenced},
	} {
		for _, how := range []string{"as ever", "without scripts"} {
			t.Run(level+" "+how, func(t *testing.T) {
				inUnguardedSim(t, 5, func(t *testing.T, s *sim) {
					c := s.open(test.client...)
					for i := range many / 4 { // nobody gets these
						s.setOn(fmt.Sprint("key-", i), "another's", 0, 0, 1, 2)
					}
					asked := func(most int, what string, ask func()) {
						if how != "as ever" {
							s.do("SCRIPT", "FLUSH")
						}
						before := s.All[0].Commands()["EVALSHA"]
						ask()
						if n := s.All[0].Commands()["EVALSHA"] - before; how == "as ever" && n > most {
							t.Errorf("%d commands for %s", n, what)
						}
					}
					var held []*redlock.Lock
					// Failed acquisitions ask for the holder, and are released on two masters.
					asked(many/2+many/4, "acquisitions", func() { held = tryAtOnce(t, c, many/4, test.lock...) })
					for i, l := range held {
						if l == nil || l.Fence() == 0 == (test.lock != nil) || s.holders(l.Key(), l.Token()) != 5 {
							t.Fatalf("%d: %+v", i, l)
						}
					}
					for i := range many / 4 {
						if n := s.holders(fmt.Sprint("key-", i), "another's"); n != 3 {
							t.Errorf("key-%d: another's on %d masters", i, n)
						}
					}
					asked(many/2, "releases", func() { unlockAll(t, held) })
					for i := range many / 4 {
						s.do("DEL", fmt.Sprint("key-", i))
					}
					s.wantNoLocks()
				})
			})
		}
	}
}

// A forbiddingConn leads to a master that does not know the command of a batch.
type forbiddingConn struct{ net.Conn }

func (c forbiddingConn) Write(p []byte) (int, error) {
	batch := "EVALSHA\r\n$40\r\n" + script.AcquireBatch.SHA
	if _, err := c.Conn.Write(bytes.ReplaceAll(p, []byte(batch), []byte(strings.Replace(batch, "EVALSHA", "UNKNOWN", 1)))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// If a batch is refused, but not because the script is missing, each command is sent alone, by the
// hash that its master knows.
func TestRefusedBatchIsSentAsSingleCommands(t *testing.T) {
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
		held := tryAtOnce(t, c, 0, fenced...)
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
