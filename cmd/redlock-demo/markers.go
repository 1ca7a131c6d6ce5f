package main

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/ask"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/pool"
)

// A markerRead is what one master has told of itself and of its fleet.
type markerRead struct {
	master string
	marker *guard.Stored // nil: there is none, or err
	err    error
	absent bool // as --without says

	db     int
	info   guard.Info
	replid string
	clock  drift.Reading // zero: not told
}

// replaceable reports whether a client of this fleet may declare the master though it
// has a marker, by the guard's own rule.
func (r *markerRead) replaceable(c guard.Config, now drift.Instant) bool {
	if r.marker == nil || r.info.RunID == "" || r.clock.Time.IsZero() {
		return false
	}
	f := guard.Facts{Master: r.master, DB: r.db, Connected: true, Info: r.info}
	f.Answer(c.Look(*r.marker, r.info.RunID, r.replid, r.clock))
	return c.Replaceable(f, now)
}

// read asks a master that is connected.
func (r *markerRead) read(ctx context.Context, m *ask.Master) {
	r.marker, r.err = m.Marker(ctx)
	if r.marker != nil && r.marker.Type != "hash" {
		r.marker, r.err = nil, fmt.Errorf("its key %s is a %s, want a hash: somebody else uses the reserved name; rename or delete that key", guard.Key, r.marker.Type)
	}
	if r.marker == nil {
		return
	}
	if text, err := redis.Bytes(answered(m.Do(ctx, "INFO"))); err == nil { // who may not read it has no marker that is replaced
		r.info, _ = guard.ParseInfo(text)
		r.replid = infoField(text, "master_replid")
	}
	r.clock, _ = m.Clock(ctx)
}

func answered(a *ask.Answer) (any, error) { return a.Reply, a.Err }

// infoField is a field of INFO; "": it does not say.
func infoField(text []byte, name string) string {
	for line := range bytes.Lines(text) {
		if field, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":")); string(field) == name {
			return string(value)
		}
	}
	return ""
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
			r.master, r.db = m.Name(), m.DB()
			up, err := m.Connect(ctx)
			switch {
			case up:
				r.read(ctx, m)
			case err == nil:
				r.err = &pipeline.DownError{Cause: pool.ErrTimeout}
			default:
				r.err = &pipeline.DownError{Cause: err}
			}
		})
	}
	wg.Wait()
	return reads
}
