package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/ask"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/pool"
)

// A markerRead is what one master has told of its fleet.
type markerRead struct {
	master string
	marker *guard.Stored // nil: there is none, or err
	err    error
}

// readMarkers asks all masters at once, for connectBound at the most. It writes
// nothing.
func readMarkers(ctx context.Context, urls []string, opts []pool.Option) []markerRead {
	ctx, cancel := context.WithTimeout(ctx, connectBound)
	defer cancel()
	reads := make([]markerRead, len(urls))
	var wg sync.WaitGroup
	for i, url := range urls {
		wg.Go(func() {
			r := &reads[i]
			m, err := ask.Open(url, opts...)
			if err != nil {
				r.err = err // the client will say so too
				return
			}
			defer m.Close()
			r.master = m.Name()
			up, err := m.Connect(ctx)
			switch {
			case up:
				r.marker, r.err = m.Marker(ctx)
				if r.marker != nil && r.marker.Type != "hash" {
					r.marker, r.err = nil, fmt.Errorf("its key %s is a %s, want a hash: somebody else uses the reserved name; rename or delete that key", guard.Key, r.marker.Type)
				}
			case err == nil:
				r.err = errors.New("no connection in time")
			default:
				r.err = err
			}
		})
	}
	wg.Wait()
	return reads
}
