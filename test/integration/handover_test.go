package integration

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Between processes, as an upgrade of a running program would do it.
func TestAHoldIsHandedFromOneProcessToAnother(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	c := p.open()
	ctx := context.Background()
	const ttl = 2 * time.Second
	worker := startChild(t, "holder")

	l := mustTry(t, c, "lock", redlock.WithTTL(ttl))
	token, err := l.HandOver()
	if err != nil {
		t.Fatal(err)
	}
	if r := worker.tell(order{Do: "adopt", URLs: p.urls, Key: "lock", Token: token, TTL: time.Second}); r.Failed != "" {
		t.Fatalf("the child's adoption: %+v", r)
	}
	for began := time.Now(); time.Since(began) < ttl+time.Second; { // renewed from there
		_, err := c.TryLock(ctx, "lock")
		if !matchesExactly(err, redlock.ErrTaken) {
			t.Fatalf("TryLock while the child holds the lock: %v", err)
		}
	}
	if r := worker.tell(order{Do: "adopt", Key: "lock", Token: "wrong", TTL: ttl}); !slices.Equal(r.Is, []string{redlock.ErrNotHeld.Error()}) {
		t.Errorf("the child's adoption with a wrong token: %+v", r)
	}

	// And back, from a process that hands over and is gone.
	second := startChild(t, "holder")
	if r := second.tell(order{Do: "lock", URLs: p.urls, Key: "other", TTL: ttl}); r.Failed != "" {
		t.Fatalf("the child's lock: %+v", r)
	}
	r := second.tell(order{Do: "hand over"})
	if r.Failed != "" {
		t.Fatalf("the child's hand-over: %+v", r)
	}
	second.kill()
	back, err := c.Adopt(ctx, "other", r.Token, redlock.WithTTL(ttl))
	if err != nil {
		t.Fatal(err)
	}
	mustUnlock(t, back)
	p.wantFree("other")
}

// Renewals of the one who hands over are under way all the time: none of them
// may set the key again behind the release by the one who adopts.
func TestAHandOverInTheMiddleOfRenewalsLeavesNothing(t *testing.T) {
	p := startProcesses(t, five)
	renewed, trace := traceRenewals()
	giver, taker := p.open(trace), p.open()
	for n := range 60 {
		given := mustTry(t, giver, "lock", redlock.WithTTL(longTTL), redlock.WithRenewal(redlock.Renewal{Every: 5 * time.Millisecond}))
		renewed.awaitMore(t, "lock", 1+n%3)
		token, err := given.HandOver()
		if err != nil {
			t.Fatal(err)
		}
		taken, err := taker.Adopt(context.Background(), "lock", token, redlock.WithTTL(longTTL))
		if err != nil {
			t.Fatal(err)
		}
		mustUnlock(t, taken)
		p.wantFree("lock")
	}
	p.wantFree("lock")
}

// Some of their connections break meanwhile: then a token may be used up without anybody
// who holds. What is left of it expires.
func TestOfSeveralAdoptersOfATokenAtMostOneHolds(t *testing.T) {
	p := startProcesses(t, five)
	p.trusting = true
	giver, third := p.open(reconnectSoon()), p.open(reconnectSoon())
	var adopters []*redlock.Client
	for range 10 {
		adopters = append(adopters, p.open(reconnectSoon()))
	}
	const ttl = 2 * time.Second
	for name, test := range map[string]struct {
		adopters    int
		inTurn, cut bool
	}{
		"two at once":                            {adopters: 2},
		"ten at once":                            {adopters: 10},
		"ten in turn":                            {adopters: 10, inTurn: true},
		"ten at once, over connections cut then": {adopters: 10, cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			held := 0
			for range 20 {
				for _, c := range slices.Concat(adopters, []*redlock.Client{giver, third}) { // after what was cut
					ready(t, c)
				}
				l := mustTry(t, giver, "lock", redlock.WithTTL(ttl))
				token, err := l.HandOver()
				if err != nil {
					t.Fatal(err)
				}
				adopted := make([]*redlock.Lock, test.adopters)
				var calls sync.WaitGroup
				for i, c := range adopters[:test.adopters] {
					adopt := func() {
						l, err := c.Adopt(context.Background(), "lock", token, redlock.WithTTL(ttl))
						if err != nil && !matchesExactly(err, redlock.ErrNotHeld) && !matchesExactly(err, redlock.ErrNoQuorum) {
							t.Errorf("Adopt: %v", err)
						}
						adopted[i] = l
					}
					if test.inTurn {
						adopt()
					} else {
						calls.Go(adopt)
					}
				}
				if test.cut {
					for i := range 3 {
						p.do(i, "CLIENT", "KILL", "TYPE", "NORMAL")
					}
				}
				calls.Wait()
				adopted = slices.DeleteFunc(adopted, func(l *redlock.Lock) bool { return l == nil })
				if len(adopted) > 1 || len(adopted) == 0 && test.inTurn {
					t.Fatalf("%d of %d hold", len(adopted), test.adopters)
				}
				for _, l := range adopted {
					held++
					if _, err := third.TryLock(context.Background(), "lock"); !matchesExactly(err, redlock.ErrTaken) && !matchesExactly(err, redlock.ErrNoQuorum) {
						t.Errorf("TryLock beside the adopter: %v", err)
					}
					if err := l.Context().Err(); err != nil {
						t.Errorf("the adopter's hold: %v", err)
					}
					if err := l.Unlock(context.Background()); err != nil && !test.cut {
						t.Error(err)
					}
				}
				eventually(t, "what is left expires", func() bool { return p.free("lock") })
			}
			t.Logf("of 20 tokens %d were adopted", held)
		})
	}
}
