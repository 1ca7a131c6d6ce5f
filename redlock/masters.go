package redlock

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/go-multierror"
)

// A MasterReport is what the client knows of one master.
type MasterReport struct {
	Master    string        // address
	Connected bool          // it can be asked now
	Err       error         // why not
	RunID     string        // of the Redis process, "" if it does not tell
	RoundTrip time.Duration // moving average; 0: not measured yet
}

// Masters tells how each master stands, in the order of the URLs, as the
// client has last seen it. It does not block.
func (c *Client) Masters(_ context.Context) []MasterReport {
	reports := make([]MasterReport, len(c.masters))
	for i, m := range c.masters {
		s := m.Stats()
		reports[i] = MasterReport{Master: s.Name, Connected: s.Connected, Err: s.Err, RunID: s.RunID, RoundTrip: s.RoundTrip}
	}
	return reports
}

const readyPoll = 5 * time.Millisecond

// Ready waits until a quorum of the masters is connected, for as long as ctx
// allows. Otherwise the error matches ErrNoQuorum and ctx's error, and says
// which masters are missing and why. Locking does not need it: a program calls
// it to fail early where its masters are misconfigured.
func (c *Client) Ready(ctx context.Context) error {
	began := time.Now()
	t := time.NewTicker(readyPoll)
	defer t.Stop()
	for {
		up, missing := c.connected()
		if up >= c.need {
			return nil
		}
		select {
		case <-t.C:
		case <-c.closing:
			return fmt.Errorf("redlock: ready: %w", ErrClosed)
		case <-ctx.Done():
			return &QuorumError{
				Op: "ready", OK: up, Need: c.need, Total: len(c.masters),
				Elapsed: time.Since(began), Nodes: missing, kind: ErrNoQuorum, cause: ctx.Err(),
			}
		}
	}
}

// connected counts the masters that are, and has a *NodeError for each that is
// not.
func (c *Client) connected() (up int, missing *multierror.Error) {
	for _, m := range c.masters {
		ok, err := m.Up()
		if ok {
			up++
			continue
		}
		if missing == nil {
			missing = &multierror.Error{ErrorFormat: joinNodes}
		}
		missing.Errors = append(missing.Errors, &NodeError{Master: m.Name(), Op: "ready", Err: err})
	}
	return up, missing
}
