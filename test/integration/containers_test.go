package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/integration/internal/container"
)

const (
	containedTTL  = 3 * time.Second
	containedWait = 500 * time.Millisecond // limit for one master
)

// contained are five masters in containers, each at an address of its own, and two clients.
type contained struct {
	masters
	*container.Cluster
	away         []int // masters with a fault
	holder, next *redlock.Client
}

func startContained(t *testing.T) *contained {
	t.Helper()
	engine, err := container.Find()
	if err != nil {
		t.Skip(err)
	}
	cluster, err := engine.Start(five)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	ranMasters.Store(true)
	c := &contained{Cluster: cluster}
	c.masters = masters{
		t: t, urls: cluster.URLs(), command: cluster.Do,
		answers: func(i int) bool { return !slices.Contains(c.away, i) },
	}
	options := []redlock.Option{
		redlock.WithTTL(containedTTL), redlock.WithMaxTTL(containedTTL), redlock.WithFencing(), redlock.WithOutageWait(settleBound),
		redlock.WithPool(pool.WithCommandTimeout(containedWait), pool.WithBackoff(time.Millisecond, 100*time.Millisecond)),
	}
	c.holder, c.next = c.openBrisk(options...), c.openBrisk(options...)
	return c
}

// does makes a fault, or ends it.
func (c *contained) does(f func(which ...int) error, which ...int) {
	c.t.Helper()
	if err := f(which...); err != nil {
		c.t.Fatal(err)
	}
}

// Masters are killed, paused and taken off their network while a lock is held on them and others
// want it. As on processes, all goes on without two of five. Without three the lock is lost, and
// nobody gets it beside its holder.
func TestMastersInContainersAreKilledPausedAndCutOffInTheMiddleOfALock(t *testing.T) {
	t.Parallel()
	c := startContained(t)
	for _, fault := range []struct {
		name       string
		begin, end func(which ...int) error
	}{
		{"paused", c.Freeze, c.Thaw},
		{"cut off", c.Cut, c.Heal},
		{"killed", c.Kill, c.Restart}, // last: they come back without their data
	} {
		t.Run(fault.name, func(t *testing.T) {
			c.t = t
			ready(t, c.holder)
			ready(t, c.next)
			l := mustTry(t, c.holder, fault.name)
			c.away = []int{1, 3}
			c.does(fault.begin, c.away...)
			c.isNotMissed(l)
			c.does(fault.end, c.away...)
			c.away = nil
			c.comesNext(l, func() { mustUnlock(t, l) })

			l = c.waitsFor(c.holder, fault.name)
			c.away = []int{0, 2, 4}
			c.does(fault.begin, c.away...)
			c.isRefused(l)
			c.does(fault.end, c.away...)
			c.away = nil
			c.comesNext(l, func() {})
			c.leavesNothing()
		})
	}
}

// isNotMissed checks for two TTLs that the lock is kept and refused to others, and that other
// locks are acquired as with all masters.
func (c *contained) isNotMissed(l *redlock.Lock) {
	c.t.Helper()
	for began := time.Now(); time.Since(began) < 2*containedTTL; {
		_, err := c.next.TryLock(context.Background(), l.Key())
		wantExactly(c.t, "TryLock of a lock that is held", err, redlock.ErrTaken)
		if took := timed(func() { mustUnlock(c.t, mustTry(c.t, c.next, "own")) }); took > 2*containedWait {
			c.t.Errorf("a lock and its release took %v without two masters", took)
		}
		if l.Remaining() == 0 {
			c.t.Fatalf("the lock is lost: %v", context.Cause(l.Context()))
		}
	}
	if err := l.Extend(context.Background()); err != nil {
		c.t.Error(err)
	}
}

// isRefused checks, until the lock is lost, that nobody gets a lock without a quorum, and that
// errors name all masters that are away.
func (c *contained) isRefused(l *redlock.Lock) {
	c.t.Helper()
	lost := false
	for n := 0; !lost; n++ {
		select {
		case <-l.Context().Done():
			lost = true
		default:
		}
		// Each attempt has a new key: one before may have left its key on a minority.
		_, err := c.next.TryLock(context.Background(), fmt.Sprint("free:", n))
		wantExactly(c.t, "TryLock without a quorum", err, redlock.ErrNoQuorum)
		if failed, ok := errors.AsType[*redlock.QuorumError](err); ok && failed.Nodes.Len() < len(c.away) {
			c.t.Errorf("three masters are away, and the error names fewer: %v", err)
		}
		if over := time.Since(l.ValidUntil()); !lost && over > time.Second {
			c.t.Fatalf("the context of the lock goes on %v after its validity", over)
		}
		time.Sleep(10 * time.Millisecond)
	}
	wantExactly(c.t, "the end of the lock", context.Cause(l.Context()), redlock.ErrLost)
}

// comesNext makes the other client wait for the lock, and ends the lock. The other must get it
// then and not before, with a higher token.
func (c *contained) comesNext(l *redlock.Lock, end func()) {
	c.t.Helper()
	granted := make(chan *redlock.Lock, 1)
	go func() { granted <- c.waitsFor(c.next, l.Key()) }()
	end()
	over := time.Now()
	next := <-granted
	if next == nil {
		return
	}
	if left := l.Remaining(); left > 0 {
		c.t.Errorf("it is granted at %v, and its holder before has it for %v more", time.Since(over), left)
	}
	if next.Fence() <= l.Fence() {
		c.t.Errorf("the token %d follows %d", next.Fence(), l.Fence())
	}
	mustUnlock(c.t, next)
}

// waitsFor waits for a lock as long as a fleet may need to recover. It returns nil if that is too
// short.
func (c *contained) waitsFor(client *redlock.Client, key string) *redlock.Lock {
	ctx, cancel := context.WithTimeout(context.Background(), settleBound)
	defer cancel()
	l, err := client.Lock(ctx, key)
	if err != nil {
		c.t.Errorf("the masters are back: %v", err)
		return nil
	}
	return l
}

// leavesNothing waits for at most a TTL until no master has a key of a lock: a key may stay that
// long where its release did not arrive.
func (c *contained) leavesNothing() {
	c.t.Helper()
	var left []string
	for deadline := time.Now().Add(containedTTL + lateBound); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		left = nil
		c.each(func(i int) { left = append(left, c.keys(i)...) })
		left = slices.DeleteFunc(left, func(key string) bool { return strings.HasPrefix(key, "redquorum:fence:") })
		if len(left) == 0 {
			return
		}
	}
	c.t.Errorf("left behind: %v", left)
}
