package wire

import (
	"errors"
	"slices"
	"time"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/script"
)

// AnyOf is an attempt at one of several keys: acquire grants one of them. The lock is then the
// plain lock of that key (KeepOnly).
var AnyOf = &Kind{
	acquire:   script.AcquireAny,
	extend:    script.ExtendAll,
	verify:    script.VerifyAll,
	release:   script.ReleaseAll,
	scripted:  scriptedKind{acquire: script.GuardedAcquireAny, extend: script.GuardedExtendAll, release: script.GuardedReleaseAll},
	readGrant: readNumberGranted,
	inTheWay:  "first",
}

// errElsewhere is the reason of a master that granted another key than the quorum.
var errElsewhere = errors.New("granted another of the keys")

// shuffle puts the keys into a random order. If all contenders had the same order, those
// that start together would split the votes for the first key, and then for the next.
func (w *Wire) shuffle(c *Claim) {
	keys := slices.Clone(c.Keys)
	w.cfg.Ballots.Chance.Shuffle("order", len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	c.Keys, c.sides = keys, nil
}

// readNumberGranted reads the number of the key that was granted, counted from 1.
func readNumberGranted(a *Ask, f *fact, reply any) ballot.Answer {
	if n, ok := reply.(int64); ok && 1 <= n && n <= int64(len(a.Tally().Votes)) {
		return ballot.Answer{Verdict: ballot.Agreed, Candidate: int(n)}
	}
	if reply == any(int64(0)) {
		return refusal(f, &heldUnknown)
	}
	return ballot.Answer{}
}

// KeepOnly narrows the claim to the one key that a quorum has granted, and returns that
// key. It releases the token on all other keys, on every master that may have granted one
// of them. The release goes out behind the acquisition on the same connection, so it also
// undoes grants that are still to come (S5). The caller holds what guards the claim.
func (w *Wire) KeepOnly(c *Claim, res *Result, keep time.Time) (key string) {
	granted := res.slot - 1
	key = c.Keys[granted]
	others := slices.Concat(c.Keys[:granted], c.Keys[granted+1:])

	c.become(Plain)
	c.setKey(key)
	c.Absent = res.Absent | res.elsewhere

	if nothing := res.Absent | res.here; nothing != w.everyone {
		a := w.newAsk(OpRelease)
		a.handOver.keys, a.handOver.wasFree = others, true
		release, rest := w.handOverScript(Set, others)
		a.eval(release, rest, nothing, keep, c.Token, w.cfg.ID)
		a.LetGo()
	}
	return key
}
