package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/redlock"
)

// leastLease is the shortest TTL with which the scene can be shown: masters have to come back while the lock is held.
const leastLease = 3 * time.Second

// sameFault shows what the guard is for: a majority of the masters restarts without its data while a lock is held, once
// for plain Redlock and once with the guard. It needs a quorum of masters that may lose their data.
func (r *run) sameFault(ctx context.Context) error {
	r.result.Masters = r.masters() // before they are emptied
	if !r.own() || r.TTL < leastLease {
		return nil
	}
	if !r.await(ctx, r.ready, func() bool { return r.total-r.gone() >= r.quorum }) {
		r.result.Skipped = append(r.result.Skipped,
			Skipped{"the same fault, plain Redlock and ours", "there is no quorum"})
		return nil
	}
	r.heading("The same fault, plain Redlock and ours",
		fmt.Sprintf("Twice somebody holds a lock while %d of %d masters restart without their data.",
			r.quorum, r.total))
	plain, err := r.forget(ctx, redlock.GuardOff)
	if err != nil {
		return err
	}
	detail := "a second client was granted the lock that the first one holds"
	if !plain.granted {
		detail = "nobody else was granted it: " + plain.why
	}
	r.judge("plain Redlock grants the lock twice", plain.granted, detail)
	guarded, err := r.forget(ctx, redlock.GuardStandard)
	if err != nil {
		return err
	}
	detail = "the masters that have forgotten the lock do not vote: " + guarded.why
	if guarded.granted {
		detail = "it was granted twice"
	}
	r.judge("with the guard nobody gets in", !guarded.granted && guarded.abstain >= r.total-r.quorum+1, detail)
	return nil
}

// judge records an expectation, and prints it.
func (r *run) judge(name string, ok bool, detail string) {
	r.result.expect(name, ok, detail)
	r.outcome(ok, "%s: %s", name, detail)
}

// A forgotten is what a second client gets that tries to take a lock after most masters forgot it.
type forgotten struct {
	granted bool
	abstain int    // masters that did not vote
	why     string // why it was not granted
}

// forget runs forgotten and shows its progress.
func (r *run) forget(ctx context.Context, level redlock.GuardLevel) (f forgotten, err error) {
	began := time.Now()
	r.Screen.during(
		func() string { return "somebody else tries to get in · " + span(time.Since(began)) },
		func() { f, err = r.forgotten(ctx, level) })
	return f, err
}

// forgotten takes a lock, restarts a quorum of the masters without their data, and lets a second
// client try to take it, until that succeeds, too few masters vote, or the first lease ends.
func (r *run) forgotten(ctx context.Context, level redlock.GuardLevel) (f forgotten, err error) {
	var pair [2]Client
	for i := range pair {
		if pair[i], err = r.openClient(fmt.Sprintf("client-%d", i+1), redlock.WithGuard(level)); err != nil {
			return f, err
		}
		defer func() { _ = pair[i].Close() }() // it fails only for a Client that Open did not make
	}
	bounded, cancel := context.WithTimeout(ctx, r.ready)
	defer cancel()
	for _, c := range pair {
		if err := c.Ready(bounded); err != nil {
			return f, err
		}
	}
	key := fmt.Sprintf("%s:%v", r.key, level)
	held, err := pair[0].TryLock(ctx, key, redlock.WithLease(r.TTL))
	if err != nil {
		return f, err
	}
	defer func() { _ = held.Unlock(context.WithoutCancel(ctx)) }()
	for i := range r.quorum {
		if err := r.restart(ctx, i, false); err != nil {
			return f, err
		}
	}
	for held.Context().Err() == nil {
		second, err := pair[1].TryLock(ctx, key, redlock.WithLease(r.TTL))
		if err == nil {
			f.granted = held.Context().Err() == nil // both at the same time
			return f, second.Unlock(context.WithoutCancel(ctx))
		}
		f.why = brief(err.Error())
		if f.noteAbstentions(pair[1]); f.abstain >= r.total-r.quorum+1 {
			return f, nil
		}
		if err := app.Sleep(ctx, 20*time.Millisecond); err != nil {
			return f, err
		}
	}
	return f, nil
}

// noteAbstentions counts the masters that may have forgotten locks, and says until when they do not vote.
func (f *forgotten) noteAbstentions(c Client) {
	f.abstain = 0
	for _, m := range c.Masters() {
		if m.Connected && m.Why != nil && m.Why.Left > 0 {
			f.abstain++
			f.why = "they vote again at " + term.Until(m.Why.Until, m.Why.Left)
		}
	}
}
