package integration

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// What the tests of RedLock.net ask of a lock (samcook/RedLock.net,
// RedLockNet.Tests/RedLockTests.cs). See docs/explanation/conformance.md.

// TestQuorum, TestSingleLock and TestFactoryHasAtLeastOneEndPoint: masters that
// run beside addresses where none does.
func TestTheQuorumIsOfAllMastersThatAreNamed(t *testing.T) {
	up := startProcesses(t, 3)
	down := redistest.Start(t, 3, redistest.Config{})
	if err := down.Close(); err != nil { // their ports are free now
		t.Fatal(err)
	}
	for _, test := range []struct {
		name     string
		up, down int
		granted  bool
	}{
		{"all active", 3, 0, true},
		{"none active", 0, 3, false},
		{"three of five active", 3, 2, true},
		{"three of six active", 3, 3, false}, // four are needed
	} {
		t.Run(test.name, func(t *testing.T) {
			urls := append(append([]string(nil), up.urls[:test.up]...), down.URLs()[:test.down]...)
			m := masters{t: t, urls: urls}
			c := m.openCold(reconnectSoon())
			l, err := c.TryLock(context.Background(), "lock")
			if !test.granted {
				wantExactly(t, "TryLock", err, redlock.ErrNoQuorum)
				if q := quorumError(t, err); q.Total != test.up+test.down || q.Need != q.Total/2+1 || len(causes(t, err)) < q.Total-q.Need+1 {
					t.Errorf("%d of %d needed, %d causes: %v", q.Need, q.Total, len(causes(t, err)), err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			mustUnlock(t, l)
		})
	}
	for _, none := range [][]string{nil, {}} {
		if c, err := redlock.Open(none); err == nil {
			t.Error("a client of no masters was made")
			_ = c.Close()
		}
	}
	up.wantFree("lock")
}

// TestRaceForQuorum and TestRaceForQuorumMultiple: several clients at once, of
// which one wins and holds on until the others have given up.
func TestExactlyOneWinsTheRaceForAQuorum(t *testing.T) {
	const racers, races = 3, 10
	p := startProcesses(t, 3)
	var clients []*redlock.Client
	for range racers {
		clients = append(clients, p.open(redlock.WithTTL(longTTL)))
	}
	for range races {
		ctx, giveUp := context.WithTimeout(context.Background(), settleBound)
		start := make(chan struct{})
		won := make(chan *redlock.Lock, racers)
		var wg sync.WaitGroup
		for _, c := range clients {
			wg.Go(func() {
				<-start
				l, err := c.Lock(ctx, "lock")
				if err != nil {
					wantGivenUp(t, err)
					return
				}
				won <- l
				giveUp()
			})
		}
		close(start)
		wg.Wait()
		giveUp()
		if len(won) != 1 {
			t.Fatalf("%d won", len(won))
		}
		l := <-won
		if n := p.holders("lock", l.Token()); n < 2 {
			t.Errorf("the winner's token is on %d masters", n)
		}
		mustUnlock(t, l)
		p.wantFree("lock")
	}
}

// TestContendedExtendCancellation: the second one begins to wait shortly before
// the first lets go, after about a TTL; both get the lock, and both renew it.
func TestWhoContendsWithAHoldThatIsRenewedGetsItAndRenewsItToo(t *testing.T) {
	const ttl = 900 * time.Millisecond
	p := startProcesses(t, 1)
	firstRenewed, firstTrace := traceRenewals()
	secondRenewed, secondTrace := traceRenewals()
	first, second := p.open(firstTrace), p.open(secondTrace)
	l := mustTry(t, first, "lock", redlock.WithTTL(ttl))
	firstRenewed.awaitPast(t, "lock", ttl)
	got := make(chan error, 1)
	var next *redlock.Lock
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), settleBound)
		defer cancel()
		var err error
		next, err = second.Lock(ctx, "lock", redlock.WithTTL(ttl))
		got <- err
	}()
	time.Sleep(10 * time.Millisecond) // as long as that test leaves it
	mustUnlock(t, l)
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	secondRenewed.awaitPast(t, "lock", ttl)
	if err := next.Context().Err(); err != nil {
		t.Errorf("the second hold ended: %v", context.Cause(next.Context()))
	}
	if !errors.Is(context.Cause(l.Context()), redlock.ErrUnlocked) {
		t.Errorf("the first hold ended by %v", context.Cause(l.Context()))
	}
	mustUnlock(t, next)
	p.wantFree("lock")
}
