package exec

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// A place is where exec takes its lock: in the one fleet there is, in that of several which
// the key belongs to, or in both while one is moved to the other.
type place struct {
	locker fleets.Locker
	mine   []placed // that have the key, once each
	moving bool

	opened map[string]*redlock.Client // by their servers and databases
}

// A placed is one fleet of a place. Its name is that of a fleets.FleetError; "": there is
// one fleet.
type placed struct {
	name   string
	client *redlock.Client
}

// openPlace begins to connect to the fleets of the flags. trace is what the client of a fleet
// tells of. The caller must close it.
func (o *execOptions) openPlace(cmd *cobra.Command, a *app.App, key string, trace func(fleet string) *redlock.Trace, opts ...redlock.Option) (p *place, err error) {
	from, err := o.NamedFleets(cmd, a)
	if err != nil {
		return nil, err
	}
	to, err := o.destinations(cmd, from)
	if err != nil {
		return nil, err
	}
	p = &place{moving: to != nil, opened: map[string]*redlock.Client{}}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	open := func(f *app.Fleet, name string) (*redlock.Client, error) {
		return p.open(f, func() (*redlock.Client, error) {
			return o.OpenURLs(f.Urls, o.SharedFlags, append(opts[:len(opts):len(opts)], redlock.WithTrace(trace(name)))...)
		})
	}
	if !p.moving {
		p.locker, err = p.side(from, key, "", open)
		return p, err
	}
	before, err := p.side(from, key, "from", open)
	if err != nil {
		return p, err
	}
	after, err := p.side(to, key, "to", open)
	if err != nil {
		return p, err
	}
	if p.locker, err = fleets.Moving(before, after); err != nil {
		err = app.InFlags(err)
	}
	return p, err
}

// destinations are the fleets of --move-to; nil: nothing is moved.
func (o *execOptions) destinations(cmd *cobra.Command, from []app.Fleet) ([]app.Fleet, error) {
	if !cmd.Flags().Changed("move-to") {
		return nil, nil
	}
	to, err := app.ParseFleets("--move-to", o.moveTo)
	if err != nil {
		return nil, err
	}
	return to, checkMove(from, to)
}

// checkMove refuses a fleet of which some servers are in one before the move and in another
// one afterwards, and a move that moves nothing. Fleets may stay as they are.
func checkMove(from, to []app.Fleet) error {
	in := map[string]*app.Fleet{}
	for i := range from {
		places, err := from[i].Places()
		if err != nil {
			return err
		}
		for _, place := range places {
			in[place] = &from[i]
		}
	}
	stay := 0
	for _, f := range to {
		places, err := f.Places()
		if err != nil {
			return app.Usagef("--move-to: %w", err)
		}
		of := in[places[0]]
		for _, place := range places {
			if in[place] != of || of != nil && len(places) != len(of.Urls) {
				return app.Usagef("--masters and --move-to share %s: want other servers, or another database of them, unless a fleet stays as it is", shared(places, in))
			}
		}
		if of != nil && of.Name == f.Name {
			stay++
		}
	}
	if stay == len(to) && len(to) == len(from) {
		return app.Usagef("--masters and --move-to name the same masters: nothing would be moved")
	}
	return nil
}

// shared is the first place that is in a fleet.
func shared(places []string, in map[string]*app.Fleet) string {
	return places[slices.IndexFunc(places, func(place string) bool { return in[place] != nil })]
}

// open makes a client for a fleet, or takes the one that it has.
func (p *place) open(f *app.Fleet, open func() (*redlock.Client, error)) (*redlock.Client, error) {
	places, err := f.Places()
	if err != nil {
		return nil, err
	}
	slices.Sort(places)
	id := strings.Join(places, " ")
	if c, ok := p.opened[id]; ok {
		return c, nil
	}
	c, err := open()
	if err == nil {
		p.opened[id] = c
	}
	return c, err
}

// side is the fleets before or after a move, path, or all there are.
func (p *place) side(list []app.Fleet, key, path string, open func(f *app.Fleet, name string) (*redlock.Client, error)) (fleets.Locker, error) {
	if len(list) == 1 {
		c, err := open(&list[0], path)
		if err != nil {
			return nil, err
		}
		p.has(path, c)
		return fleets.One(c), nil
	}
	clients, byName := map[string]*redlock.Client{}, map[string]fleets.Locker{}
	for i := range list {
		name := list[i].Name
		c, err := open(&list[i], joinNames(path, name))
		if err != nil {
			return nil, err
		}
		clients[name], byName[name] = c, fleets.One(c)
	}
	shards, err := fleets.Sharded(byName)
	if err != nil {
		return nil, app.InFlags(err)
	}
	name := shards.Shard(key)
	p.has(joinNames(path, name), clients[name])
	return shards, nil
}

// joinNames is a name as a fleets.FleetError has it.
func joinNames(path, name string) string { return strings.TrimPrefix(path+"/"+name, "/") }

// has notes a fleet that has the key.
func (p *place) has(name string, c *redlock.Client) {
	if !slices.ContainsFunc(p.mine, func(m placed) bool { return m.client == c }) {
		p.mine = append(p.mine, placed{name, c})
	}
}

// await waits until it is known of each fleet whether a quorum is connected, at most until
// ConnectBound after exec began. A call waits for a connection no longer than for an answer, which is less
// than a TLS handshake may take. When a fleet was closed because of a move, its masters
// vote only once it is known where it moves. So in a move await also waits for the fleets
// to say who they are.
func (p *place) await(ctx context.Context, began time.Time) {
	ctx, cancel := context.WithDeadline(ctx, began.Add(app.ConnectBound))
	defer cancel()
	for _, m := range p.mine {
		for !quorumIsDecided(m.client.Masters(ctx)) {
			if app.Sleep(ctx, connectPoll) != nil {
				break
			}
		}
	}
	if p.moving {
		_ = p.locker.Ready(ctx) // the lock's error says it as well
	}
}

const connectPoll = 2 * time.Millisecond

// quorumIsDecided reports whether it is known that a quorum is connected, or that none is.
func quorumIsDecided(masters []redlock.MasterReport) bool {
	up, unknown, need := 0, 0, quorum.Need(len(masters))
	for _, m := range masters {
		if m.Connected {
			up++
		} else if errors.Is(m.Err, pipeline.ErrConnecting) {
			unknown++
		}
	}
	return up >= need || up+unknown < need
}

// any asks every fleet that has the key, until the answer is yes.
func (p *place) any(yes func(c *redlock.Client) bool) bool {
	return slices.ContainsFunc(p.mine, func(m placed) bool { return yes(m.client) })
}

// names are those of the fleets that have the key; nil: there is one fleet.
func (p *place) names() (names []string) {
	for _, m := range p.mine {
		if m.name != "" {
			names = append(names, m.name)
		}
	}
	return names
}

// of is the name of the fleet that one of the errors is of; "": there is one fleet, or it is
// not known.
func (p *place) of(errs ...error) string {
	if len(p.mine) == 1 {
		return p.mine[0].name
	}
	for _, err := range errs {
		if in, ok := errors.AsType[*fleets.FleetError](err); ok {
			return in.Fleet
		}
	}
	return ""
}

// token is what proves a hold to the masters; "": in two fleets no single one does.
func (p *place) token(hold fleets.Hold) string {
	if l, ok := redlock.FromContext(hold.Context()); ok && len(p.mine) == 1 {
		return l.Token()
	}
	return ""
}

// operator tells which operator has taken the lock from its holder; "": none, as far as the
// masters say.
func (p *place) operator(key string) (name string) {
	for _, m := range p.mine {
		name = cmp.Or(name, observe.OperatorAt(m.client, key))
	}
	return name
}

func (p *place) close() {
	var wg sync.WaitGroup
	for _, c := range p.opened {
		wg.Go(func() { _ = c.Close() }) // its only error is that of a pool, which has none
	}
	wg.Wait()
}
