package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/redquorum/redquorum/redlock"
)

const (
	sameTTL    = 4 * time.Second
	faultAfter = time.Second
	askedAfter = 1500 * time.Millisecond
)

// A course is what happened to a lock while three of five masters restarted without their data.
// Times count from the first client's call.
type course struct {
	first   time.Duration // until when the first client holds it
	refused bool          // the second client is refused at first
	second  time.Duration // since when the second client holds it
}

// A lock is held while three of five masters restart without their data, and another client asks
// for it. The README has a picture of both outcomes.
func TestTheSameFaultGrantsALockTwiceWithoutTheGuardAndOnceWithIt(t *testing.T) {
	t.Parallel()
	theirs, ours := faultWithRedsync(t), faultWithOurs(t)
	if theirs.refused || theirs.second >= theirs.first {
		t.Errorf("redsync: %+v: want both to hold the lock", theirs)
	}
	if !ours.refused || ours.second <= ours.first {
		t.Errorf("redquorum: %+v: want the second refused until the first has stopped", ours)
	}
}

// threeRestartEmpty is the fault, at its time.
func (p *processes) threeRestartEmpty(began time.Time) {
	p.t.Helper()
	time.Sleep(time.Until(began.Add(faultAfter)))
	p.kill(0, 1, 2)
	p.restart(0, 1, 2)
	time.Sleep(time.Until(began.Add(askedAfter)))
}

func faultWithRedsync(t *testing.T) (c course) {
	t.Helper()
	p := startProcesses(t, five)
	began := time.Now()
	first := theirs(p.openRedsync(), "lock", redsync.WithExpiry(sameTTL))
	mustLockTheirs(t, first)
	c.first = first.Until().Sub(began)
	p.threeRestartEmpty(began)
	second := theirs(p.openRedsync(), "lock", redsync.WithExpiry(sameTTL))
	c.refused = second.Lock() != nil
	c.second = time.Since(began)
	p.each(func(i int) { p.do(i, "DEL", "lock") })
	return c
}

func faultWithOurs(t *testing.T) (c course) {
	t.Helper()
	p := startProcesses(t, five)
	options := []redlock.Option{redlock.WithTTL(sameTTL), redlock.WithMaxTTL(sameTTL), redlock.WithOutageWait(closeBound + sameTTL)}
	holder, other := p.open(options...), p.open(options...)
	began := time.Now()
	first := mustTry(t, holder, "lock")
	stopped := make(chan time.Duration, 1)
	go func() {
		<-first.Context().Done()
		stopped <- time.Since(began)
	}()
	p.threeRestartEmpty(began)
	_, err := other.TryLock(context.Background(), "lock")
	c.refused = err != nil
	if abstains, ok := errors.AsType[*redlock.AbstainError](err); !ok {
		t.Errorf("the second client got %v: want masters that may not vote", err)
	} else {
		t.Log(abstains)
	}
	second, err := other.Lock(context.Background(), "lock")
	if err != nil {
		t.Fatal(err)
	}
	c.second, c.first = time.Since(began), <-stopped
	mustUnlock(t, second)
	return c
}
