package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/redquorum/redquorum/test/integration/internal/peer"
)

// byeBound is how long a client may take to end: to finish calls that wait for a lock or a master,
// and to close.
const byeBound = 25 * time.Second

// A child is a client's process, as the test sees it.
type child struct {
	*peer.Process
	number int
	// stopped: it was frozen once, so its operations may have taken as long as that.
	stopped bool
}

// startChild starts a client whose events go to the history.
func startChild(t *testing.T, number int, s spec, into *history) *child {
	t.Helper()
	p, err := peer.Start(childVariable, "1", func(events *json.Decoder) {
		for {
			var e event
			if err := events.Decode(&e); err != nil {
				if !errors.Is(err, io.EOF) {
					into.add(number, event{Kind: eventBye, Failed: failedOther, Text: fmt.Sprintf("its output: %v", err)})
				}
				return
			}
			into.add(number, e)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() }) // if the row has failed
	if err := p.Order(s); err != nil {
		t.Fatal(err)
	}
	return &child{Process: p, number: number}
}

func (c *child) freeze() error {
	c.stopped = true
	return c.Freeze()
}

// end makes the client stop, close and leave.
func (c *child) end() error {
	if err := c.End(byeBound); err != nil {
		return fmt.Errorf("client %d: %w", c.number, err)
	}
	return nil
}
