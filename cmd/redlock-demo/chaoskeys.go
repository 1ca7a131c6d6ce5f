package main

import (
	"strings"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/chaos"
)

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
