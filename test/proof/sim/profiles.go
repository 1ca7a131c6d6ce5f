package sim

import (
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// Profiles returns the names of the profiles whose runs follow from their seed alone.
func Profiles() []string {
	names := make([]string, len(profiles))
	for i, p := range profiles {
		names[i] = p.name
	}
	return names
}

type profile struct {
	name string
	set  func(p *Profile, d *dice)
}

var profiles = []profile{
	{"edges", func(p *Profile, d *dice) {
		p.Kinds = []weighted[Kind]{{Poll, 3}, {Pounce, 4}, {Try, 1}, {Cancelled, 1}}
		p.Keys, p.Edges, p.Leases, p.Abandon = 1, true, 2, 2
		p.Poll = 2 * time.Millisecond
		p.StallLimit = 3 * p.TTL
		p.CommandTimeout = p.TTL * 9 / 10
		p.SlowOneIn, p.SlowLeast, p.SlowMost = 6, p.TTL/2, p.TTL
		p.TwiceOneIn, p.TwiceWithin = 15, p.TTL
		p.StraggleOneIn = 2
	}},
	// Releases come a second time, while the next attempt is under way or has the lock.
	{"echoes", func(p *Profile, d *dice) {
		p.Kinds = []weighted[Kind]{{Poll, 4}, {Try, 1}}
		p.Keys, p.Clients, p.Poll = 1, 3, 2*time.Millisecond
		p.TwiceOneIn, p.TwiceWithin, p.TwiceOnly = 2, p.TTL/4, "release"
		p.Think, p.Latency = 2*time.Millisecond, 2*time.Millisecond
	}},
	{"renewals", func(p *Profile, d *dice) {
		p.Kinds = []weighted[Kind]{{Poll, 3}, {Wait, 2}, {Do, 1}}
		p.Keys, p.Edges, p.Leases = 1, true, 6
		p.Poll = 3 * time.Millisecond
		p.StallLimit = p.TTL
		p.CommandTimeout = p.TTL / time.Duration(2+d.upTo(8))
		p.SlowOneIn, p.SlowLeast, p.SlowMost = 8, p.TTL/4, p.TTL
		p.CutOneIn, p.StraggleOneIn = 40, 2
		p.Freezes, p.Partitions, p.BlockedFor = 3*p.TTL, 3*p.TTL, 2*p.TTL
	}},
	{"breaks", func(p *Profile, d *dice) {
		p.Kinds = []weighted[Kind]{{Poll, 2}, {Wait, 2}, {Try, 2}, {All, 1}, {Any, 1}}
		p.CutOneIn, p.StraggleOneIn = 12, 2
		p.TwiceOneIn, p.TwiceWithin = 12, 3*p.TTL
		p.SlowOneIn, p.SlowLeast, p.SlowMost = 20, p.TTL/10, p.TTL
	}},
	{"partitions", func(p *Profile, d *dice) {
		p.Kinds = []weighted[Kind]{{Poll, 2}, {Wait, 3}, {Do, 1}, {Write, 1}, {Read, 1}}
		p.Partitions, p.Freezes, p.Pauses, p.BlockedFor = p.TTL, 3*p.TTL, 3*p.TTL, 2*p.TTL
		p.StraggleOneIn = 2
		p.Edges, p.Leases, p.Abandon = true, 4, 2
	}},
	{"restarts", func(p *Profile, d *dice) {
		p.Kinds = []weighted[Kind]{{Poll, 3}, {Wait, 3}, {Try, 1}, {Do, 1}}
		p.Restarts, p.DownFor, p.DelayEmpty = 2*p.TTL, p.TTL, true
		p.Loses = []weighted[Loss]{{Nothing, 2}, {Empty, 2}}
		p.Edges, p.Leases, p.Abandon = true, 4, 2
		p.CutOneIn, p.StraggleOneIn = 60, 2
	}},
	{"kinds", func(p *Profile, d *dice) {
		p.Kinds = []weighted[Kind]{
			{All, 3}, {Any, 3}, {Read, 4}, {Write, 2}, {HandOver, 1}, {Do, 1}, {Try, 1}, {Wait, 1},
		}
		p.Keys, p.Slots, p.Clients = 3, 2, 3
		p.SlowOneIn, p.SlowLeast, p.SlowMost = 20, p.TTL/10, p.TTL
		p.CutOneIn, p.StraggleOneIn = 60, 2
		p.TwiceOneIn, p.TwiceWithin = 60, 2*p.TTL
	}},
	{"readers", func(p *Profile, d *dice) {
		p.Kinds = []weighted[Kind]{{Read, 4}, {Write, 2}, {Try, 1}}
		p.Keys = 1
		p.Edges, p.Leases, p.Abandon = true, 2, 2
		p.Poll = 3 * time.Millisecond
		p.StallLimit = 2 * p.TTL
		p.CommandTimeout = p.TTL * 8 / 10
		p.SlowOneIn, p.SlowLeast, p.SlowMost = 10, p.TTL/2, p.TTL
		p.CutOneIn, p.StraggleOneIn = 40, 2
		p.TwiceOneIn, p.TwiceWithin = 30, 2*p.TTL
	}},
	{"queue", func(p *Profile, d *dice) {
		p.Kinds = []weighted[Kind]{{Wait, 6}, {Fair, 3}, {Cancelled, 1}, {Try, 1}}
		p.Keys, p.Clients, p.Workers = 1, 3, 2
		p.CutOneIn, p.StraggleOneIn = 50, 2
		p.SlowOneIn, p.SlowLeast, p.SlowMost = 25, p.TTL/20, p.TTL/2
		p.Freezes, p.BlockedFor = 6*p.TTL, p.TTL
	}},
	{"flushes", flushing}, // many commands go out at once, and releases as one batch
	{"adoptions", func(p *Profile, d *dice) { // by several clients at once, over connections that break
		p.Kinds = []weighted[Kind]{{HandOver, 3}, {Poll, 2}, {Pounce, 1}}
		p.Keys, p.Clients, p.Poll = 1, 3, 3*time.Millisecond
		p.Fencing = !d.one(4)
		p.SlowOneIn, p.SlowLeast, p.SlowMost = 10, p.TTL/10, p.TTL/2
		if p.Fencing { // an adoption may take two rounds, each of which takes most of the masters' timeout
			p.SlowOneIn, p.SlowLeast, p.SlowMost = 2, 20*time.Millisecond, 45*time.Millisecond
		}
		p.CutOneIn, p.StraggleOneIn = 20, 2
		p.TwiceOneIn, p.TwiceWithin = 20, p.TTL
		p.Calls = 12
	}},
	{"emptied", func(p *Profile, d *dice) { // all masters lose their data, and their clients live on
		p.Guard = redlock.GuardStandard
		p.Kinds = []weighted[Kind]{{Poll, 3}, {Wait, 1}, {Try, 3}, {Write, 1}, {Read, 1}}
		p.Keys, p.Long, p.Poll = 1, true, p.TTL/40
		p.Emptied, p.StallLimit = 6*p.TTL, 2*p.TTL
		p.CutOneIn, p.StraggleOneIn = 80, 2
		p.SlowOneIn, p.SlowLeast, p.SlowMost = 20, p.TTL/20, p.TTL/2
		p.Calls = 30 / p.Clients
	}},
	{"put back", func(p *Profile, d *dice) { // markers of masters that have lost their data
		p.Guard, p.Masters = redlock.GuardStandard, 3
		p.TTL *= 10 // so that a client looks again within one TTL
		p.MaxTTL, p.StallLimit = p.TTL, p.TTL/4
		p.Kinds = []weighted[Kind]{{Poll, 3}, {Try, 3}}
		p.Keys, p.Long, p.Poll = 1, true, p.TTL/40
		p.PutBack = p.TTL
		p.CutOneIn, p.StraggleOneIn = 40, 2
		p.Calls = 30 / p.Clients
	}},
	{"late", func(p *Profile, d *dice) { // replies come after their timeout, and no lock is lost
		p.Kinds = []weighted[Kind]{{Poll, 1}, {Read, 1}, {All, 1}}
		p.TTL = time.Duration(5+d.upTo(6)) * time.Second
		p.MaxTTL, p.StallLimit, p.Long = p.TTL, p.TTL/2, true
		p.Poll, p.Keys, p.Clients, p.Calls = p.TTL/40, 3, 2, 6
		p.Fencing = d.one(2)
		p.Late, p.LateLeast, p.LateMost, p.BlockedFor = 2*p.TTL, 100*time.Millisecond, p.TTL/7, 3*p.TTL
		p.KeepsAll = true
	}},
	{"refused", func(p *Profile, d *dice) { // masters refuse releases and other writes; no key may be left
		p.Kinds = []weighted[Kind]{{Try, 3}, {Wait, 3}, {All, 1}, {Read, 1}, {Write, 1}}
		p.TTL, p.MaxTTL, p.StallLimit = 20*time.Second, 20*time.Second, time.Second
		p.Keys, p.Brief, p.Litter, p.Think = 2, true, true, 100*time.Millisecond
		p.Refusals, p.BlockedFor = 400*time.Millisecond, 400*time.Millisecond
	}},
	// Masters are on another continent, with the library's default timeouts; no lock is lost.
	{"far away", func(p *Profile, d *dice) {
		p.Kinds = []weighted[Kind]{{Poll, 2}, {Wait, 3}, {Try, 2}, {Do, 1}, {All, 1}, {Read, 1}, {Write, 1}}
		p.TTL, p.MaxTTL, p.StallLimit = 30*time.Second, 30*time.Second, 2*time.Second
		p.CommandTimeout, p.Untimed = 2*time.Second, true
		p.SlowOneIn, p.SlowLeast, p.SlowMost = 1, 130*time.Millisecond, 300*time.Millisecond
		p.Poll, p.Brief, p.KeepsAll = p.TTL/40, true, true
		p.Fencing = d.one(2)
	}},
	{"listeners", func(p *Profile, d *dice) { // log handlers and traces block, while masters are out of reach
		p.Kinds = []weighted[Kind]{{Poll, 3}, {Wait, 2}, {Try, 1}, {Write, 1}, {Read, 1}}
		p.Blocks, p.Partitions, p.Freezes, p.BlockedFor = 2*p.TTL, p.TTL, 2*p.TTL, 3*p.TTL
		p.Edges, p.Leases, p.Abandon = true, 4, 2
	}},
	{"settings", func(p *Profile, d *dice) { // lists, MaxTTLs and levels change, while clients of the old ones live on
		strictly(p)
		p.Kinds = []weighted[Kind]{{Poll, 4}, {Try, 3}, {Pounce, 2}, {Write, 1}, {Read, 1}}
		p.Guard, p.Masters, p.Fencing = redlock.GuardStandard, 5, false
		p.MaxTTL, p.StallLimit = 4*p.TTL, p.TTL/4
		p.Settings, p.Calls, p.Think = 2*p.TTL, 40, p.TTL/5
		p.CutOneIn, p.StraggleOneIn = 60, 2
		p.Freezes, p.BlockedFor = 4*p.TTL, p.TTL/2
		p.Restarts, p.DownFor, p.Loses = 6*p.TTL, p.TTL/8, []weighted[Loss]{{Nothing, 1}}
	}},
	{"permits", func(p *Profile, d *dice) { // never more holders than permits
		p.Kinds = []weighted[Kind]{{Any, 4}, {CancelledAny, 4}, {TryAny, 2}}
		p.Clients, p.Workers, p.Slots, p.Calls = 3, 1, 1+d.upTo(3), 12
		p.Edges, p.Leases, p.Abandon = true, 4, 2
		p.Restarts, p.DownFor, p.Loses = 3*p.TTL, p.TTL, []weighted[Loss]{{Nothing, 1}}
		p.Freezes, p.BlockedFor = 2*p.TTL, p.TTL
		p.CutOneIn, p.StraggleOneIn = 40, 2
		p.SlowOneIn, p.SlowLeast, p.SlowMost = 20, p.TTL/20, p.TTL/2
	}},
	{"drift", func(p *Profile, d *dice) {
		p.Kinds = []weighted[Kind]{{Pounce, 1}}
		p.Keys, p.Edges, p.Leases, p.Abandon = 1, true, 1, 1
		p.TTL *= 2
		p.MaxTTL, p.StallLimit = p.TTL, p.TTL
		p.Calls, p.Latency, p.Extremes = 5, 150*time.Microsecond, true
	}},
	{"fences", func(p *Profile, d *dice) { // T1: no data is lost, and clocks are arbitrary
		p.Kinds = []weighted[Kind]{
			{Poll, 3}, {Wait, 2}, {Try, 1}, {All, 2}, {Any, 1}, {Read, 1}, {Write, 1}, {Pounce, 1},
		}
		p.Fencing, p.MayOverlap = true, true
		p.Edges, p.Leases, p.Abandon = true, 3, 2
		p.MasterSteps, p.StepMost, p.StepBack = p.TTL, 2*p.TTL, p.TTL
		p.Restarts, p.DownFor, p.Loses = 4*p.TTL, p.TTL, []weighted[Loss]{{Nothing, 1}}
		p.CutOneIn, p.StraggleOneIn = 40, 2
		p.TwiceOneIn, p.TwiceWithin = 8, 2*p.TTL
		p.SlowOneIn, p.SlowLeast, p.SlowMost = 15, p.TTL/10, p.TTL
		p.ClientOffset = []time.Duration{0, time.Millisecond, p.TTL, time.Hour}[d.upTo(4)]
		p.ClientSteps = 4 * p.TTL
	}},
	{"raises", func(p *Profile, d *dice) { // tokens that differ between masters
		p.Kinds = []weighted[Kind]{{Poll, 4}, {Try, 1}}
		p.Fencing, p.Keys, p.Clients, p.Calls = true, 1, 3, 14
		p.Poll, p.Think, p.Latency = 2*time.Millisecond, 2*time.Millisecond, 500*time.Microsecond
		p.Brief = true
		p.CommandTimeout = 15 * time.Millisecond
		p.SlowOneIn, p.SlowLeast, p.SlowMost = 25, 5*time.Millisecond, p.TTL/4
		p.StallLimit = 2 * p.TTL
		if d.one(3) { // repeated commands leave locks behind, so fewer are granted
			p.TwiceOneIn, p.TwiceWithin = 6, 20*time.Millisecond
		}
		p.ClientOffset = time.Hour
	}},
	{"readers' raises", func(p *Profile, d *dice) { // readers meet fencing tokens of writers whose attempts failed
		p.Kinds = []weighted[Kind]{{Read, 5}, {Try, 5}, {Poll, 1}}
		p.Fencing, p.Keys, p.Clients, p.Calls = true, 1, 3, 16
		p.Think, p.Poll, p.Latency = 2*time.Millisecond, 2*time.Millisecond, 500*time.Microsecond
		p.Brief = true
		p.CommandTimeout = 6 * time.Millisecond
		p.SlowOneIn, p.SlowLeast, p.SlowMost = 3, 5*time.Millisecond, p.TTL/4
		p.StallLimit = 2 * p.TTL
		p.ClientOffset = time.Hour
	}},
	{"guarded", func(p *Profile, d *dice) { // masters lose their data and are back at once
		p.Guard = redlock.GuardStandard
		if d.one(2) { // longer than it takes to find out that the fleet is not new
			p.TTL *= 10
			p.MaxTTL, p.StallLimit = p.TTL, p.TTL/4
		}
		p.Kinds = []weighted[Kind]{{Poll, 4}, {Wait, 2}, {Try, 1}, {Do, 1}, {All, 1}, {Write, 1}, {Read, 1}}
		p.Keys, p.Edges, p.Leases, p.Abandon = 1, true, 3, 2
		p.Poll = p.TTL / 40
		p.Restarts, p.DownFor = p.TTL, p.TTL/8
		p.Loses, p.Together = []weighted[Loss]{{Empty, 3}, {Tail, 1}, {Nothing, 1}}, true
		p.CutOneIn, p.StraggleOneIn = 80, 2
		p.SlowOneIn, p.SlowLeast, p.SlowMost = 25, p.TTL/20, p.TTL/2
		p.TwiceOneIn, p.TwiceWithin = 40, p.TTL
		p.Calls = 36 / p.Clients
	}},
	{"ambushes", func(p *Profile, d *dice) { // a master that has forgotten a lock gets it back from its holder
		p.Guard, p.Masters, p.Clients = redlock.GuardStandard, 3, 2
		p.Kinds = []weighted[Kind]{{Poll, 1}}
		p.TTL *= 4
		p.MaxTTL, p.StallLimit = p.TTL, 3*p.TTL
		p.CommandTimeout = p.TTL * 95 / 100
		p.Keys, p.Long, p.Ambushes = 1, true, p.TTL/4
		p.Poll, p.Latency = p.TTL/40, time.Millisecond
		p.PPM = 500
		p.Calls = 8
	}},
	{"guarded fences", func(p *Profile, d *dice) { // T2: clocks differ by less than the quarantine
		p.Guard, p.Fencing = redlock.GuardStandard, true
		p.Kinds = []weighted[Kind]{{Poll, 4}, {Wait, 1}, {Try, 2}, {All, 1}, {Write, 1}, {Read, 1}}
		p.Keys, p.Brief = 1, true
		p.Poll, p.Think = 4*time.Millisecond, 20*time.Millisecond
		p.Restarts, p.DownFor = p.TTL, p.TTL/8
		p.Loses, p.Together = []weighted[Loss]{{Empty, 3}, {Tail, 1}}, true
		p.SlowOneIn, p.SlowLeast, p.SlowMost = 15, p.TTL/20, p.TTL/2
		p.TwiceOneIn, p.TwiceWithin = 20, p.TTL
		p.ClientOffset = p.TTL / 4
		p.Calls = 36 / p.Clients
	}},
	{"updates", func(p *Profile, d *dice) { // a resource compares tokens, and its clients are paused
		p.Fencing, p.Updates = true, true
		p.Kinds = []weighted[Kind]{{Poll, 3}, {Wait, 2}, {Do, 1}, {Write, 1}}
		p.Keys, p.Poll = 1, 5*time.Millisecond
		p.StopOneIn = 3
		p.SlowOneIn, p.SlowLeast, p.SlowMost = 20, p.TTL/20, p.TTL/2
		p.CutOneIn, p.StraggleOneIn = 60, 2
	}},
	{"strict jumps", func(p *Profile, d *dice) { // masters' clocks jump far, and are soon set right again
		strictly(p)
		p.Kinds = []weighted[Kind]{
			{Poll, 3}, {Wait, 2}, {Try, 1}, {Pounce, 2}, {All, 1},
			{Any, 1}, {Write, 1}, {Read, 1}, {HandOver, 1}, {Do, 1},
		}
		p.Fencing = d.one(2)
		p.MasterSteps, p.StepMost, p.StepBack = p.TTL/8, 3*p.TTL, p.TTL/8
		p.CutOneIn = 15
		p.Calls = 24 / p.Clients
		p.Restarts, p.DownFor, p.Loses = 6*p.TTL, p.TTL/8, []weighted[Loss]{{Empty, 2}, {Nothing, 1}}
	}},
	{"strict skew", func(p *Profile, d *dice) { // masters' clocks are as far off as they may be, and change sides
		strictly(p)
		p.Kinds = []weighted[Kind]{{Pounce, 1}}
		p.Leases, p.Abandon = 1, 1
		p.MasterSteps, p.StepMost, p.StepBack = p.TTL/6, p.TTL/5, p.TTL/2
		p.PounceFrom = p.TTL / 4
		p.CutOneIn = 20
	}},
	// All clocks are as far off as they may be: clients' by E, and masters' by S from either.
	{"strict sides", func(p *Profile, d *dice) {
		strictly(p)
		p.Kinds = []weighted[Kind]{{Pounce, 3}, {Poll, 1}}
		p.Clients, p.Leases, p.Abandon, p.PounceFrom = 2, 1, 1, p.TTL/4
		p.Sides, p.ClientSteps, p.Calls = p.TTL/3, 4*p.TTL, 20
		p.MasterOffset, p.ClientOffset = 0, p.ClockError/2-sideMargin
		p.PPM = 100
	}},
	// The same, with locks of two TTLs on one key: each has an S of its own.
	{"strict mixed", func(p *Profile, d *dice) {
		strictly(p)
		p.Kinds = []weighted[Kind]{{Pounce, 3}, {Poll, 1}}
		p.Clients, p.Leases, p.Abandon, p.PounceFrom = 2, 1, 1, p.TTL/4
		p.Mixed, p.MaxTTL = true, 5*p.TTL
		p.Sides, p.Calls = p.TTL/3, 20
		p.MasterOffset, p.ClientOffset, p.PPM = 0, p.ClockError/2-sideMargin, 100
	}},
	{"litter", func(p *Profile, d *dice) {
		p.Kinds = []weighted[Kind]{{Cancelled, 4}, {Try, 2}, {Wait, 1}, {All, 1}, {Any, 1}}
		p.TTL, p.MaxTTL = 8*time.Second, 8*time.Second
		p.Keys, p.Litter = 1, true
		p.StallLimit = time.Second
		p.SlowOneIn, p.SlowLeast, p.SlowMost = 5, time.Millisecond, 100*time.Millisecond
	}},
}

// users is a profile outside of Profiles: code of users acts beside the calls, at instants of
// no lane.
const users = "users"

// ofUsers lets code of users do all that it may: in traces, during calls, and on shared pools.
func ofUsers(p *Profile, d *dice) {
	p.Kinds = []weighted[Kind]{
		{Try, 2}, {TryRead, 1}, {TryOthers, 2}, {TryDo, 1}, {Wait, 3}, {Poll, 2}, {Fair, 2},
		{Cancelled, 2}, {Do, 1}, {Lead, 2},
		{All, 1}, {Any, 1}, {Read, 2}, {Write, 1}, {HandOver, 1},
	}
	p.Keys, p.Slots, p.Clients, p.Workers, p.Calls = 2, 2, 3, 2, 6
	p.Meddles, p.SharePools, p.Fencing = true, d.one(2), d.one(2)
	p.MaxTTL = 2 * p.TTL
	p.Edges, p.Leases, p.Abandon = true, 4, 3
	p.Closes, p.Blocks, p.Freezes, p.BlockedFor = 4*p.TTL, 4*p.TTL, 3*p.TTL, 2*p.TTL
	p.Partitions = 2 * p.TTL
	p.Restarts, p.DownFor, p.Loses = 6*p.TTL, p.TTL, []weighted[Loss]{{Nothing, 1}}
	p.CutOneIn, p.StraggleOneIn = 60, 2
	p.SlowOneIn, p.SlowLeast, p.SlowMost = 25, p.TTL/20, p.TTL/2
}

// guardedFlushes is a profile that Draw knows and Profiles does not name: two runs
// of one seed may differ.
const guardedFlushes = "guarded flushes"

// flushingGuarded is flushing with batches of acquisitions, too.
func flushingGuarded(p *Profile, d *dice) {
	p.Fencing = d.one(2)
	if !p.Fencing || d.one(2) {
		strictly(p)
		p.Edges, p.Leases, p.Abandon = false, 0, 0
	}
	flushing(p, d)
	p.Poll *= 5
}

// flushing gives each client several workers, whose commands go out together.
func flushing(p *Profile, d *dice) {
	p.Kinds = []weighted[Kind]{{Poll, 5}, {Try, 3}, {Wait, 2}, {Pounce, 1}}
	p.Keys, p.Clients, p.Workers, p.Calls = 3, 3, 4, 6
	p.Gather, p.Brief = d.between(200*time.Microsecond, 2*time.Millisecond), d.one(2)
	p.Think, p.Poll, p.Latency = 4*time.Millisecond, 4*time.Millisecond, time.Millisecond
	if d.one(2) { // no command is lost, and no key may be left
		p.TTL, p.MaxTTL, p.Litter, p.StallLimit = 8*time.Second, 8*time.Second, true, time.Second
		p.SlowOneIn, p.SlowLeast, p.SlowMost = 12, time.Millisecond, 50*time.Millisecond
		p.Brief = true
		return
	}
	// No connection is lost: that would wake several workers at one instant.
	p.StallLimit = 4 * p.TTL
	p.SlowOneIn, p.SlowLeast, p.SlowMost = 15, p.TTL/10, p.TTL
	p.TwiceOneIn, p.TwiceWithin = 8, 2*p.TTL
}

// strictly sets what all runs with the strict guard have in common.
func strictly(p *Profile) {
	p.Guard, p.Masters, p.Keys = redlock.GuardStrict, 3, 1
	p.TTL = time.Second
	p.ClockError = 100 * time.Millisecond
	p.MaxTTL, p.StallLimit = p.TTL, p.TTL/2
	p.Edges, p.Leases, p.Abandon = true, 2, 2
	p.Poll = 20 * time.Millisecond
	p.MasterOffset, p.ClientOffset = p.TTL/40, p.TTL/40 // S is a tenth
	p.PPM = 200                                         // or clocks would part by S within a run
	p.Calls = 18 / p.Clients
	p.SlowOneIn, p.SlowLeast, p.SlowMost = 20, p.TTL/100, p.TTL/10
}
