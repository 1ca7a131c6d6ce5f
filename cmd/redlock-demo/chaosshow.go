package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/chaos"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/tty"
)

const (
	drawEvery = 100 * time.Millisecond
	lineEvery = time.Second
)

// A show is a run of chaos as it is seen: a picture on a terminal, or lines.
type show struct {
	app          *app
	json         bool
	live, colour bool
	cancel       context.CancelCauseFunc // the run, with the reason

	mu       sync.Mutex // guards terminal, and keeps lines whole
	terminal *tty.Terminal
}

// run shows the world until its end, and gives the verdict.
func (s *show) run(outer context.Context, w *chaos.World, o *chaos.Options) error {
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	s.cancel = cancel
	defer s.release()
	if s.live {
		if err := s.take(); err != nil {
			return &outputError{err}
		}
	}
	watching, done := context.WithCancel(ctx)
	var wg sync.WaitGroup
	start := func(f func(context.Context)) {
		wg.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					s.release()
					panic(r)
				}
			}()
			f(watching)
		})
	}
	switch {
	case s.live:
		h := &hand{world: w, picture: &chaos.Picture{
			Title: fmt.Sprintf("redlock-demo chaos   %d masters %s", w.Masters(), whoseMasters[o.Cluster.Kind()]),
			TTL:   o.TTL, Colour: s.colour, Keys: s.terminal.HasKeys(),
			Clocks: o.Cluster.Kind() == demo.KindEmbedded, Watching: o.Cluster.Kind() == demo.KindGiven,
		}}
		start(func(ctx context.Context) { s.draw(ctx, w, h) })
		start(func(ctx context.Context) { s.terminal.Keys(ctx, h.press) })
		start(func(ctx context.Context) { s.signals(ctx) })
	case !s.json:
		s.line("%d masters %s, %d contenders for the lock %s, TTL %v", w.Masters(), whoseMasters[o.Cluster.Kind()], o.Contenders, w.Key(), o.TTL)
		start(func(ctx context.Context) { s.follow(ctx, w) })
	}
	result := w.Run(ctx)
	done()
	wg.Wait()
	s.release()
	return s.conclude(ctx, result)
}

var whoseMasters = map[demo.Kind]string{
	demo.KindEmbedded: "in this process", demo.KindSpawned: "in processes of their own", demo.KindGiven: "that others run",
}

// conclude prints the verdict.
func (s *show) conclude(ctx context.Context, r *chaos.Result) error {
	var ended error
	if ctx.Err() != nil {
		ended = context.Cause(ctx)
		r.Error = ended.Error()
	}
	if broken, ok := errors.AsType[*outputError](ended); ok {
		return broken
	}
	if s.json {
		if err := writeJSON(s.app.out, r); err != nil {
			return err
		}
	} else if r.Verdict == chaos.VerdictHeld {
		if err := s.print("HELD    " + r.Sentence()); err != nil {
			return err
		}
	} else if err := s.print(strings.ToUpper(string(r.Verdict)) + "  " + r.Sentence()); err != nil {
		return err
	}
	if ended != nil && r.Verdict != chaos.VerdictBroken {
		return ended
	}
	return chaosError(r)
}

// told prints an event, where events are lines.
func (s *show) told(e chaos.Event) {
	if !s.json && !s.live {
		s.line("%s", e.Line())
	}
}

func (s *show) line(format string, args ...any) {
	if err := s.print(fmt.Sprintf(format, args...)); err != nil {
		s.cancel(err)
	}
}

func (s *show) print(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := io.WriteString(s.app.out, text+"\n"); err != nil {
		return &outputError{err}
	}
	return nil
}

// follow prints how everything stands, every second.
func (s *show) follow(ctx context.Context, w *chaos.World) {
	t := time.NewTicker(lineEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if snapshot := w.Snapshot(); snapshot.Begun {
				s.line("%s", snapshot.Line())
			}
		case <-ctx.Done():
			return
		}
	}
}

// draw keeps the picture up to date.
func (s *show) draw(ctx context.Context, w *chaos.World, h *hand) {
	t := time.NewTicker(drawEvery)
	defer t.Stop()
	for {
		snapshot := w.Snapshot()
		width, height := s.terminal.Size()
		if err := s.terminal.Draw(h.draw(&snapshot, width, height)); err != nil {
			s.cancel(&outputError{err})
			return
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *show) take() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terminal, err = tty.Take(s.app.in, s.app.out)
	return err
}

// release gives the terminal back; without one it does nothing.
func (s *show) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal != nil {
		s.terminal.Release()
	}
}

// A hand is what keys do. It is safe for concurrent use.
type hand struct {
	world *chaos.World

	mu      sync.Mutex // guards the picture
	picture *chaos.Picture
}

func (h *hand) draw(s *chaos.Snapshot, width, height int) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.picture.Draw(s, width, height)
}

// skews are what s sets a clock off by, one after the other.
var skews = []time.Duration{0, time.Second, time.Minute, -time.Minute}

// press is one key.
func (h *hand) press(key byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if strings.IndexByte("qQ\x03\x04", key) >= 0 { // and Ctrl-C, Ctrl-D
		h.world.Stop()
		return
	}
	if h.picture.Watching {
		return
	}
	n := h.picture.Selected
	frozen, cut, offset := h.world.Condition(n)
	var action chaos.Action
	switch key {
	case 'k':
		action = chaos.Kill
	case 'r':
		action = chaos.Restart
	case 'e':
		action = chaos.Empty
	case 'f':
		action = chaos.Freeze
		if frozen {
			action = chaos.Thaw
		}
	case 'c':
		action = chaos.Cut
		if cut {
			action = chaos.Heal
		}
	case 's':
		action = chaos.Skew
		offset = nextSkew(offset)
	case '\t':
		h.picture.Selected = (n + 1) % h.world.Masters()
		return
	default:
		if i := int(key) - '1'; i >= 0 && i < h.world.Masters() {
			h.picture.Selected = i
		}
		return
	}
	h.world.Inject(chaos.Fault{Action: action, Masters: []int{n}, Offset: offset})
}

func nextSkew(offset time.Duration) time.Duration {
	for i, d := range skews {
		if d == offset {
			return skews[(i+1)%len(skews)]
		}
	}
	return 0
}
