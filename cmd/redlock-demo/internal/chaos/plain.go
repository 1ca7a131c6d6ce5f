package chaos

import (
	"fmt"
	"strings"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
)

// Line is an event as one plain line.
func (e Event) Line() string { return fmt.Sprintf("%8s  %s", clock(e.At), e.Text) }

// Line is how everything stands, as one plain line.
func (s *Snapshot) Line() string {
	parts := []string{fmt.Sprintf("%d of %d serve", s.Serving, len(s.Masters))}
	if s.Holder == "" {
		parts = append(parts, "nobody holds")
	} else {
		parts = append(parts, fmt.Sprintf("%s holds, %.1f s left", s.Holder, s.Left.Seconds()))
	}
	parts = append(parts, fmt.Sprintf("%d acquired, %d refused, %d lost", s.Counts.Acquired, s.Counts.Refused, s.Counts.Lost))
	if k := s.Check; k.Broken() {
		parts = append(parts, fmt.Sprintf("BROKEN: %s at once, %d tokens fell", words.Count(k.Overlaps, "pair"), k.TokensFallen))
	} else {
		parts = append(parts, "never two at once")
	}
	return fmt.Sprintf("%8s  · %s", clock(s.Elapsed), strings.Join(parts, " · "))
}
