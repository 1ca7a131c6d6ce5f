package integration

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Some adopters' connections break. Then a token may be used up although nobody holds the lock,
// and its keys expire.
func TestAtMostOneAdopterOfATokenHolds(t *testing.T) {
	t.Parallel()
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
				for _, c := range slices.Concat(adopters, []*redlock.Client{giver, third}) { // some were cut
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
