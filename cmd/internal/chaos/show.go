package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/stage"
	"github.com/redquorum/redquorum/cmd/internal/term"
)

const (
	drawEvery = 100 * time.Millisecond
	lineEvery = time.Second
)

// A show is a run of chaos as it is seen: a picture on a terminal, or lines.
type show struct {
	app    *app.App
	json   bool
	live   bool
	paint  term.Paint
	cancel context.CancelCauseFunc // the run, with the reason

	terminal *term.Terminal // nil: none is taken; set before anything runs

	lines sync.Mutex // keeps lines whole
}

// run shows the world until its end, and gives the verdict.
func (s *show) run(outer context.Context, w *World) error {
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	s.cancel = cancel
	defer s.release()
	if s.live {
		var err error
		if s.terminal, err = term.Take(s.app.In, s.app.Out); err != nil {
			return &app.OutputError{Err: err}
		}
	}
	kind := w.Stage.Cluster.Kind
	watching, done := context.WithCancel(ctx)
	var wg sync.WaitGroup
	start := func(f func(context.Context)) {
		wg.Go(func() {
			defer w.crashing()
			f(watching)
		})
	}
	switch {
	case s.live:
		h := &hand{world: w, picture: &Picture{
			Title: fmt.Sprintf("redlock-demo chaos   %d masters %s", len(w.addresses), kind.Whose()),
			Paint: s.paint, TTL: w.Stage.TTL, Keys: s.terminal.HasKeys(),
			Clocks: kind == stage.KindEmbedded, Watching: kind == stage.KindGiven,
		}}
		start(func(ctx context.Context) { s.draw(ctx, w, h) })
		start(func(ctx context.Context) { s.terminal.Keys(ctx, h.press) })
		start(func(ctx context.Context) { s.signals(ctx) })
	case !s.json:
		s.line("", fmt.Sprintf("%d masters %s, %d contenders for the lock %s, TTL %v", len(w.addresses), kind.Whose(), Contenders, w.Key, w.Stage.TTL))
		start(func(ctx context.Context) { s.follow(ctx, w) })
	}
	result := w.Run(ctx)
	done()
	wg.Wait()
	s.release()
	return s.conclude(ctx, result)
}

// conclude prints the verdict.
func (s *show) conclude(ctx context.Context, r *Result) error {
	var ended error
	if ctx.Err() != nil {
		ended = context.Cause(ctx)
		r.Error = ended.Error()
	}
	if broken, ok := errors.AsType[*app.OutputError](ended); ok {
		return broken
	}
	if s.json {
		if err := app.WriteJSON(s.app.Out, r); err != nil {
			return err
		}
	} else if err := s.print(fmt.Sprintf("%-7s ", strings.ToUpper(string(r.Verdict))), r.Sentence()); err != nil {
		return err
	}
	if ended != nil && r.Verdict != VerdictBroken {
		return ended
	}
	return chaosError(r)
}

// told prints an event, where events are lines.
func (s *show) told(e Event) {
	if !s.json && !s.live {
		s.line(e.Line())
	}
}

// line prints a line of lead and text; the run ends where that cannot be done.
func (s *show) line(lead, text string) {
	if err := s.print(lead, term.Clean(text)); err != nil {
		s.cancel(err)
	}
}

// print breaks at a terminal between words what has no room on a line, and puts it below the text.
func (s *show) print(lead, text string) error {
	s.lines.Lock()
	defer s.lines.Unlock()
	var b bytes.Buffer
	term.LayoutFor(s.app.Out).Text(&b, lead, term.Width(lead), text)
	return app.Emit(s.app.Out, &b)
}

// follow prints how everything stands, every second.
func (s *show) follow(ctx context.Context, w *World) {
	app.Every(ctx, lineEvery, func() {
		if snapshot := w.Snapshot(); snapshot.Begun {
			s.line(snapshot.Line())
		}
	})
}

// draw keeps the picture up to date. The run ends where it cannot be drawn.
func (s *show) draw(ctx context.Context, w *World, h *hand) {
	app.Every(ctx, drawEvery, func() {
		snapshot := w.Snapshot()
		width, height := s.terminal.Size()
		if err := s.terminal.Draw(h.draw(&snapshot, width, height)); err != nil {
			s.cancel(&app.OutputError{Err: err})
		}
	})
}

// release gives the terminal back; without one it does nothing.
func (s *show) release() {
	if s.terminal != nil {
		s.terminal.Release()
	}
}

// A hand is what keys do. It is safe for concurrent use.
type hand struct {
	world *World

	mu      sync.Mutex // guards the picture
	picture *Picture
}

func (h *hand) draw(s *Snapshot, width, height int) []string {
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
	is := h.world.Condition(n)
	fault := stage.Fault{Masters: []int{n}}
	switch key {
	case 'k':
		fault.Action = stage.Kill
	case 'r':
		fault.Action = stage.Restart
	case 'e':
		fault.Action = stage.Empty
	case 'f':
		fault.Action = stage.Freeze
		if is.Frozen {
			fault.Action = stage.Thaw
		}
	case 'c':
		fault.Action = stage.Cut
		if is.Cut {
			fault.Action = stage.Heal
		}
	case 's':
		fault.Action, fault.Offset = stage.Skew, nextSkew(is.Offset)
	case '\t':
		h.picture.Selected = (n + 1) % len(h.world.addresses)
		return
	default:
		if i := int(key) - '1'; i >= 0 && i < len(h.world.addresses) {
			h.picture.Selected = i
		}
		return
	}
	h.world.Inject(fault)
}

func nextSkew(offset time.Duration) time.Duration {
	for i, d := range skews {
		if d == offset {
			return skews[(i+1)%len(skews)]
		}
	}
	return 0
}
