package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/ask"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/sleep"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// How many masters a move goes from and to.
const (
	MoveFrom = 3
	MoveTo   = 5
)

// MoveBuyers is how many buyers the command has by default for a move. A lock in two fleets
// takes two round trips and is given back where one is in the way, so a crowd gets in its own.
const MoveBuyers = 8

// The bounds of a move's clients. Whoever is killed in it is seen to be gone at once, so
// masters on a busy machine may have their time to answer.
const (
	moveOutageWait    = 3 * time.Second // the library's default
	moveAnswerTimeout = 2 * time.Second // at the most; half of the TTL where that is less
	moveDialTimeout   = 10 * time.Second
)

// The fleets of a move, as people and programs read them.
const (
	fleetFrom = "old"
	fleetTo   = "new"
)

// A side is one of the two fleets of a move.
type side struct {
	name   string
	owner  Owner
	quorum int
	// operator declares and closes the fleet, and sees how its masters stand.
	operator *redlock.Client
	dead     int // the first so many masters were killed
	closed   bool
}

func newSide(name string, owner Owner) *side {
	return &side{name: name, owner: owner, quorum: quorum.Need(len(owner.URLs()))}
}

// settled reports whether the operator sees what was done to the masters, and nothing else.
// Those of a closed fleet do not vote for it.
func (s *side) settled() bool {
	for i, m := range s.masters() {
		if (m.State == stateGone) != (i < s.dead) || m.State == stateAbstains && !s.closed {
			return false
		}
	}
	return true
}

// masters are those of the side, as its operator sees them.
func (s *side) masters() []Master {
	list := mastersOf(s.operator)
	for i := range list {
		list[i].Fleet = s.name
	}
	return list
}

// both is the masters of both sides as one cluster.
type both struct{ from, to Owner }

func (b both) Kind() Kind      { return b.from.Kind() }
func (b both) Version() string { return b.from.Version() }
func (b both) URLs() []string  { return slices.Concat(b.from.URLs(), b.to.URLs()) }
func (b both) Close() error    { return errors.Join(b.from.Close(), b.to.Close()) }

// A move is one change of masters while it sells.
type move struct {
	*run
	from, to *side
	programs []*program
	shop     *shop
}

// A program is one client of the lock. It is changed as a program is: what it is doing is
// done, and then it is started anew, with other masters.
type program struct {
	key    string
	mu     sync.RWMutex // guards locker; is held for reading while it is used
	locker fleets.Locker
}

// sell is the program's guard.
func (p *program) sell(ctx context.Context, fn func(ctx context.Context) error) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.locker.Do(ctx, p.key, fn)
}

// become lets what the program does end, and starts it with another Locker; nil: none. It
// waits for as long as its buyers take to get the lock.
func (p *program) become(l fleets.Locker) {
	p.mu.Lock()
	old := p.locker
	p.locker = l
	p.mu.Unlock()
	if old != nil {
		_ = old.Close() // it returns nil
	}
}

// Move shows how masters are changed while a lock is in use, and checks what it expects: from
// the masters of the one cluster to those of the other, in the three phases of package
// fleets, while programs sell and one master of either is killed. Both stay the caller's. It
// takes about twenty seconds with a TTL of five. Results and errors are as those of Run.
func Move(ctx context.Context, from, to Owner, o Options) (*Result, error) {
	return conduct(ctx, both{from, to}, o, func(ctx context.Context, r *run) error {
		if r.MaxTTL == 0 {
			r.MaxTTL = r.TTL
			r.ready += r.MaxTTL
		}
		m := &move{run: r, from: newSide(fleetFrom, from), to: newSide(fleetTo, to)}
		m.quorum = m.to.quorum
		m.result.Settings.Quorum = m.quorum
		m.result.Settings.Move = &MoveSettings{From: len(from.URLs()), FromQuorum: m.from.quorum, To: len(to.URLs()), ToQuorum: m.to.quorum}
		defer m.end()
		return m.whole(ctx)
	})
}

// end stops the programs and the operators. It may be called more than once.
func (m *move) end() {
	if m.shop != nil {
		m.shop.close()
	}
	for _, p := range m.programs {
		p.become(nil)
	}
	for _, s := range []*side{m.from, m.to} {
		if s.operator != nil {
			_ = s.operator.Close() // its only error is that of a pool, which has none
		}
	}
}

// whole is the move from the first client to the last check.
func (m *move) whole(ctx context.Context) error {
	for _, s := range []*side{m.from, m.to} {
		if err := m.setUp(ctx, s); err != nil {
			return err
		}
	}
	m.introduce()
	steps := []func(context.Context) error{m.phaseOne, m.phaseTwo, m.closing, m.phaseThree}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	m.shop.close()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.audit()
	m.await(ctx, m.ready, func() bool { return m.from.settled() && m.to.settled() })
	m.result.Masters = slices.Concat(m.from.masters(), m.to.masters())
	m.end()
	return m.nothingLeft(ctx)
}

// open makes a client of a side.
func (m *move) open(s *side, n int) (*redlock.Client, error) {
	opts := append(m.clientOptions(n), redlock.WithFencing(), redlock.WithOutageWait(moveOutageWait),
		redlock.WithPool(pool.WithDialTimeout(moveDialTimeout), pool.WithCommandTimeout(min(moveAnswerTimeout, m.TTL/2))))
	c, err := redlock.Open(s.owner.URLs(), opts...)
	if err != nil {
		return nil, inputError(err)
	}
	return c, nil
}

// setUp declares the masters of a side a fleet, as an operator does.
func (m *move) setUp(ctx context.Context, s *side) error {
	c, err := m.open(s, 0)
	if err != nil {
		return err
	}
	s.operator = c
	bounded, cancel := context.WithTimeout(ctx, m.ready)
	defer cancel()
	if err := c.Ready(bounded); err != nil { // which declares masters that are all new
		if ctx.Err() != nil {
			return ctx.Err()
		}
		m.result.Masters = s.masters()
		return &NoQuorumError{Waited: m.ready, Quorum: s.quorum, Masters: m.result.Masters}
	}
	m.await(ctx, m.ready, s.settled)
	return ctx.Err()
}

// introduce says what will be shown, and on what.
func (m *move) introduce() {
	s := m.Screen
	s.line("%s", s.bold("Other masters, while a lock on them is in use"))
	s.line("   %s of %s, seed %d", count(m.Buyers, "buyer"), count(min(sellers, m.Buyers), "program"), m.Seed)
	s.line("   key %s, TTL %v", m.key, m.TTL)
	for _, f := range []*side{m.from, m.to} {
		s.line("   %d %s masters %s, %d are a quorum", len(f.owner.URLs()), f.name, whose[f.owner.Kind()], f.quorum)
	}
	s.line("")
	s.masters(slices.Concat(m.from.masters(), m.to.masters()))
}

// starts opens what a program uses in a phase, and waits until it may be used.
func (m *move) starts(ctx context.Context, n int, sides ...*side) (fleets.Locker, error) {
	var lockers []fleets.Locker
	closeAll := func() {
		for _, l := range lockers {
			_ = l.Close() // it returns nil
		}
	}
	for _, s := range sides {
		c, err := m.open(s, n+1)
		if err != nil {
			closeAll()
			return nil, err
		}
		lockers = append(lockers, fleets.One(c))
	}
	l := lockers[0]
	if len(lockers) == 2 {
		var err error
		if l, err = fleets.Moving(lockers[0], lockers[1]); err != nil {
			closeAll()
			return nil, err
		}
	}
	bounded, cancel := context.WithTimeout(ctx, m.ready)
	defer cancel()
	if err := l.Ready(bounded); err != nil {
		_ = l.Close() // it returns nil
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("starting program %d: %w", n+1, err)
	}
	return l, nil
}

// change starts the programs anew, one after the other, and watches half-way and at the end.
func (m *move) change(ctx context.Context, halfway, end string, sides ...*side) error {
	for n, p := range m.programs {
		if n == len(m.programs)/2 {
			if err := m.watch(ctx, halfway, time.Now()); err != nil {
				return err
			}
		}
		l, err := m.starts(ctx, n, sides...)
		if err != nil {
			return err
		}
		p.become(l)
	}
	return m.watch(ctx, end, time.Now())
}

// phaseOne sells with the old masters alone.
func (m *move) phaseOne(ctx context.Context) error {
	m.heading("Phase 1: the old masters", "All programs take the lock in the old fleet.")
	var guards []guard
	for n := range min(sellers, m.Buyers) {
		p := &program{key: m.key}
		m.programs = append(m.programs, p)
		l, err := m.starts(ctx, n, m.from)
		if err != nil {
			return err
		}
		p.become(l)
		guards = append(guards, m.guardOf(p))
	}
	m.shop = openShop(ctx, delivery, m.Buyers, m.Seed, guards)
	if err := m.watch(ctx, "phase 1", time.Now()); err != nil {
		return err
	}
	return m.kill(ctx, m.from, 1, "an old one gone")
}

// phaseTwo brings the programs to both fleets, one by one.
func (m *move) phaseTwo(ctx context.Context) error {
	m.heading("Phase 2: both", "One by one the programs are changed to take every lock in both fleets.")
	if err := m.change(ctx, "phases 1 and 2", "phase 2", m.from, m.to); err != nil {
		return err
	}
	return m.kill(ctx, m.to, 1, "a new one gone")
}

// closing shuts the old fleet to whoever is still in phase 1, and waits until no lock of
// theirs can be left.
func (m *move) closing(ctx context.Context) error {
	m.heading("The old fleet is closed", "From now on its masters vote only for programs that take every lock in both.")
	forgotten, err := m.starts(ctx, len(m.programs), m.from)
	if err != nil {
		return err
	}
	defer func() { _ = forgotten.Close() }() // it returns nil
	id, err := m.id(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	found, err := m.from.operator.CloseFleet(ctx, id)
	if err != nil {
		return orEnded(ctx, fmt.Errorf("closing the old fleet: %w", err))
	}
	m.from.closed = true
	m.outcome(true, "%d of %d old masters are told; locks of before are over in %s", len(found.Closed), len(m.from.owner.URLs()), span(found.Left))
	told := m.isTold(ctx, forgotten)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.outcome(told == nil, "a program that was forgotten in phase 1: %s", m.toldText(told))
	m.result.expect("who was forgotten is refused, and told why", told == nil, m.toldText(told))
	if err := m.waitFor(ctx, found.Left); err != nil {
		return err
	}
	if found, err = m.from.operator.CloseFleet(ctx, id); err != nil {
		return orEnded(ctx, fmt.Errorf("asking for how much longer to wait: %w", err))
	}
	detail := fmt.Sprintf("%s after the closing", span(time.Since(began)))
	if found.Left > 0 {
		detail = fmt.Sprintf("%s more to wait, %s", span(found.Left), detail)
	}
	m.result.expect("locks of before are over", found.Left == 0, detail)
	return m.watched(ctx, "closed", began)
}

// orEnded is ctx's cause, where that has ended, or else the error.
func orEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// waitFor waits, and shows for how much longer.
func (m *move) waitFor(ctx context.Context, left time.Duration) error {
	until := time.Now().Add(left)
	stop := m.Screen.follow(func() string {
		return fmt.Sprintf("sold %d · locks of before are over in %s", m.shop.stock.books().sold, span(time.Until(until)))
	})
	defer stop()
	return sleep.For(ctx, left)
}

// id is that of the new fleet, as its masters have it.
func (m *move) id(ctx context.Context) (string, error) {
	urls := m.to.owner.URLs()
	c, err := ask.Open(urls[len(urls)-1]) // which is not killed
	if err != nil {
		return "", err
	}
	defer c.Close()
	bounded, cancel := context.WithTimeout(ctx, m.ready)
	defer cancel()
	if up, err := c.Connect(bounded); !up {
		return "", orEnded(ctx, fmt.Errorf("asking the new fleet who it is: no connection: %w", errors.Join(err)))
	}
	stored, err := c.Marker(bounded)
	switch {
	case err != nil:
		return "", orEnded(ctx, fmt.Errorf("asking the new fleet who it is: %w", err))
	case stored == nil:
		return "", errors.New("asking the new fleet who it is: it has no marker")
	}
	return stored.Fields.Fleet, nil
}

// isTold waits until a program of phase 1 is refused because its fleet is being moved, on a
// key that nobody else wants; what it says instead is the error.
func (m *move) isTold(ctx context.Context, l fleets.Locker) (err error) {
	told := m.await(ctx, m.refusal, func() bool {
		var h fleets.Hold
		if h, err = l.TryLock(ctx, m.key+":forgotten"); err == nil {
			err = errors.New("it gets the lock")
			_ = h.Unlock(ctx) // its error is none of this
			return false
		}
		why, ok := errors.AsType[*redlock.AbstainError](err)
		return ok && why.Cause == redlock.AbstainMoved
	})
	if told {
		return nil
	}
	return err
}

func (m *move) toldText(err error) string {
	if err == nil {
		return "no quorum, for this fleet is being moved"
	}
	return "it should be refused: " + shortened(err.Error())
}

// phaseThree brings the programs to the new fleet alone, one by one, and stops the old
// masters.
func (m *move) phaseThree(ctx context.Context) error {
	m.heading("Phase 3: the new masters", "One by one the programs are changed to take the lock in the new fleet alone.")
	if err := m.change(ctx, "phases 2 and 3", "phase 3", m.to); err != nil {
		return err
	}
	return m.kill(ctx, m.from, len(m.from.owner.URLs()), "the old ones gone")
}

// kill kills masters of a side until so many of them are dead, and watches.
func (m *move) kill(ctx context.Context, s *side, want int, name string) error {
	for ; s.dead < want; s.dead++ {
		m.Screen.line("   %s %s master %d is killed", m.Screen.bold("→"), s.name, s.dead+1)
		if err := s.owner.Kill(s.dead); err != nil {
			return fmt.Errorf("killing %s master %d: %w", s.name, s.dead+1, err)
		}
	}
	m.await(ctx, m.ready, s.settled)
	m.Screen.strip(s.masters(), s.quorum)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return m.watch(ctx, name, time.Now())
}

// watch looks at the shop for a while.
func (m *move) watch(ctx context.Context, name string, since time.Time) error {
	stop := m.Screen.follow(func() string {
		f := m.shop.ledger.in(window{from: since, to: time.Now()})
		return fmt.Sprintf("%s: sold %d · refused %d · %s", name, f.sales, f.refused, span(time.Since(since)))
	})
	defer stop()
	if err := sleep.For(ctx, m.Watch); err != nil {
		return err
	}
	// Where the machine is slow, there is more to see later.
	m.await(ctx, m.refusal, func() bool { return m.shop.ledger.in(window{from: since, to: time.Now()}).sales > 0 })
	stop()
	return m.watched(ctx, name, since)
}

// watched says what the shop has done since then, which has to be something.
func (m *move) watched(ctx context.Context, name string, since time.Time) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p := m.phase(name, true, m.total-m.from.dead-m.to.dead, window{from: since, to: time.Now()}, m.shop)
	ok, detail := p.Sales > 0, p.sold()
	should := ""
	if !ok {
		should = "it should sell: "
	}
	m.outcome(ok, "%s: %s%s; p50 %s, p99 %s", name, should, detail, span(p.P50.duration()), span(p.P99.duration()))
	m.result.expect(name+": it sells", ok, detail)
	return nil
}

// audit closes the books over everything that was sold.
func (m *move) audit() {
	m.heading("The books", "What was sold, by whom at a time, and under which fencing tokens.")
	b := m.shop.stock.books()
	remark, wrong := m.shop.ledger.remark()
	detail := fmt.Sprintf("%d sold, %d out of stock", b.sold, delivery-b.stock)
	if remark != "" {
		detail += ", " + remark
	}
	m.judge("no update is lost", b.sold == delivery-b.stock && !wrong, detail)
	inside := m.shop.door.mostInside()
	m.judge("the lock excludes, through all phases", inside == 1, fmt.Sprintf("at most %s at the stock at once", count(inside, "buyer")))
	given, fell := m.shop.door.tokensSeen()
	m.judge("fencing tokens rise, through all phases", given > 0 && fell == 0, fmt.Sprintf("%s, %d not above the one before", count(given, "token"), fell))
	refused, row := m.shop.ledger.refusedInARow()
	m.judge("no sale is refused for longer than a round", row <= 1, fmt.Sprintf("%d refused, %d of one buyer in a row at most", refused, row))
}

// judge notes an expectation, and prints how it went.
func (m *move) judge(name string, ok bool, detail string) {
	m.outcome(ok, "%s: %s", name, detail)
	m.result.expect(name, ok, detail)
}
