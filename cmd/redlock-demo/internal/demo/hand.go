package demo

import (
	"context"
	"fmt"
	"time"
)

// A hand takes masters away and brings one back.
type hand interface {
	// owns reports whether nobody else has a hand in it.
	owns() bool
	// take sees to it that at least want masters are gone. It returns how many
	// are, and since when.
	take(ctx context.Context, want int) (gone int, since time.Time, err error)
	// back sees to it that there is a quorum again, and returns since when
	// that is to be expected.
	back(ctx context.Context) (since time.Time, err error)
	// returned says what since means.
	returned() string
}

func (r *run) hand() (hand, error) {
	if owner, ok := r.cluster.(Owner); ok {
		return &ownHand{run: r, owner: owner}, nil
	}
	if !r.Person {
		return nil, &skippedError{"the masters are not ours to stop, and there is nobody to ask (no terminal, or --json)"}
	}
	return &personsHand{r}, nil
}

// An ownHand kills and restarts masters itself.
type ownHand struct {
	*run
	owner Owner
	dead  []int
}

func (h *ownHand) owns() bool       { return true }
func (h *ownHand) returned() string { return "started" }

func (h *ownHand) take(ctx context.Context, want int) (int, time.Time, error) {
	for len(h.dead) < want {
		n := len(h.dead)
		h.Screen.line("   %s master %d is killed", h.Screen.bold("→"), n+1)
		if err := h.owner.Kill(n); err != nil {
			return 0, time.Time{}, fmt.Errorf("killing master %d: %w", n+1, err)
		}
		h.dead = append(h.dead, n)
	}
	since := time.Now()
	h.await(ctx, settleBound, func() bool { return h.mostGone() >= want && h.gone() >= want })
	return want, since, ctx.Err()
}

func (h *ownHand) back(ctx context.Context) (time.Time, error) {
	h.Screen.line("   %s master %d is started again", h.Screen.bold("→"), h.dead[0]+1)
	since := time.Now()
	if err := h.owner.Restart(ctx, h.dead[0]); err != nil {
		return time.Time{}, fmt.Errorf("restarting master %d: %w", h.dead[0]+1, err)
	}
	h.dead = h.dead[1:]
	return since, nil
}

// A personsHand asks for it.
type personsHand struct{ *run }

func (h *personsHand) owns() bool       { return false }
func (h *personsHand) returned() string { return "seen again" }

func (h *personsHand) take(ctx context.Context, want int) (int, time.Time, error) {
	if want == 1 {
		h.ask("Now stop a master, for example: docker stop …, systemctl stop redis")
	} else {
		h.ask("Now stop another one")
	}
	err := h.wait(ctx, "a master to go away", func() bool { return h.gone() >= want })
	return h.gone(), time.Now(), err
}

// ask puts a request to the person. Where there is no live line to say so, it
// says how long it waits.
func (h *personsHand) ask(text string) {
	if !h.Screen.live {
		text += fmt.Sprintf(" (within %.0f s, Ctrl-C skips)", h.Patience.Seconds())
	}
	h.Screen.paragraph("   "+h.Screen.bold("→")+" ", 5, text)
}

func (h *personsHand) back(ctx context.Context) (time.Time, error) {
	h.ask("Now start one of them again, with its data, for example: docker start …")
	err := h.wait(ctx, "a quorum to be back", func() bool { return h.gone() <= h.tolerated() })
	return time.Now(), err
}

// wait waits for the person, for as long as Patience, or until Skip.
func (h *personsHand) wait(ctx context.Context, what string, met func() bool) error {
	began := time.Now()
	stop := h.Screen.follow(func() string {
		left := max(0, h.Patience-time.Since(began))
		return fmt.Sprintf("waiting up to %.0f s for %s · Ctrl-C skips", left.Seconds(), what)
	})
	defer stop()
	t := time.NewTicker(20 * time.Millisecond)
	defer t.Stop()
	for !met() {
		select {
		case <-t.C:
			if time.Since(began) >= h.Patience {
				return &skippedError{fmt.Sprintf("no change of the masters within %v", h.Patience)}
			}
		case <-h.Skip:
			return &skippedError{"by Ctrl-C"}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
