package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/stage"
)

// A NoQuorumError says that there was no quorum to begin with.
type NoQuorumError struct {
	Waited  time.Duration
	Quorum  int
	Masters []Master
}

// Reached is how many masters can be reached, whether they vote or not.
func (e *NoQuorumError) Reached() (n int) {
	for _, m := range e.Masters {
		if m.reached() {
			n++
		}
	}
	return n
}

func (e *NoQuorumError) Error() string {
	did, n := "answered", e.Reached()
	up := 0
	var causes []string
	for _, m := range e.Masters {
		if m.State == stage.SeenUp {
			up++
		} else {
			causes = append(causes, m.Address+": "+m.Cause)
		}
	}
	if up < n {
		did, n = "vote", up
	}
	return fmt.Sprintf("no quorum within %v: %d of %s %s, %d needed (%s)",
		e.Waited, n, count(len(e.Masters), "master"), did, e.Quorum, strings.Join(causes, "; "))
}
