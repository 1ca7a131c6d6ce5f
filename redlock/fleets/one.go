package fleets

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/redquorum/redquorum/internal/fleetseam"
	"github.com/redquorum/redquorum/redlock"
)

// One makes a Locker of a client, which must not be nil. Its holds are *redlock.Lock,
// and it costs nothing. Close closes the client.
func One(c *redlock.Client) Locker { return newOne(c) }

// one is the fleet of one client.
type one struct {
	client *redlock.Client
	seam   fleetseam.Client
	id     atomic.Pointer[string] // as the markers had it last; nil: not known yet
	where  string                 // addresses and databases, sorted
}

func newOne(c *redlock.Client) *one {
	if c == nil {
		return &one{}
	}
	o := &one{client: c, seam: fleetseam.ClientOf(c)}
	var all []string
	for _, s := range o.seam.Servers() {
		all = append(all, s.Name+"/"+strconv.Itoa(s.DB))
	}
	slices.Sort(all)
	o.where = strings.Join(all, " ")
	return o
}

var errNilClient = badError("One: the client is nil: want one that redlock.Open or redlock.New has made")

// Lock implements Locker.
func (o *one) Lock(ctx context.Context, key string, opts ...redlock.LockOption) (Hold, error) {
	if o.client == nil {
		return nil, errNilClient
	}
	return asHold(o.client.Lock(ctx, key, opts...))
}

// TryLock implements Locker.
func (o *one) TryLock(ctx context.Context, key string, opts ...redlock.LockOption) (Hold, error) {
	if o.client == nil {
		return nil, errNilClient
	}
	return asHold(o.client.TryLock(ctx, key, opts...))
}

// Do implements Locker.
func (o *one) Do(ctx context.Context, key string, fn func(ctx context.Context) error, opts ...redlock.LockOption) error {
	if o.client == nil {
		return errNilClient
	}
	return o.client.Do(ctx, key, fn, opts...)
}

// Ready implements Locker.
func (o *one) Ready(ctx context.Context) error {
	if o.client == nil {
		return errNilClient
	}
	return o.client.Ready(ctx)
}

// Close implements Locker.
func (o *one) Close() error {
	if o.client == nil {
		return nil
	}
	return o.client.Close()
}

// fleetID returns the latest known id in the markers; "": not known, or there are no
// markers.
func (o *one) fleetID() string {
	if id := o.seam.FleetID(); id != "" {
		if last := o.id.Load(); last == nil || *last != id {
			o.id.Store(&id)
		}
		return id
	}
	if last := o.id.Load(); last != nil {
		return *last
	}
	return ""
}

// same reports whether two are the same fleet, as far as is known.
func (o *one) same(p *one) bool {
	if o.client == p.client || o.where == p.where {
		return true
	}
	id := o.fleetID()
	return id != "" && id == p.fleetID()
}

// compare defines the order in which all clients take fleets: by id, or by address if there
// is no id.
func (o *one) compare(p *one) int {
	return cmp.Or(cmp.Compare(o.fleetID(), p.fleetID()), cmp.Compare(o.where, p.where))
}

// plan implements planner.
func (o *one) plan(keys []string, path string) []part {
	return []part{{fleet: o, path: path, keys: keys}}
}

// fleets implements planner.
func (o *one) fleets(path string) []part { return []part{{fleet: o, path: path}} }
