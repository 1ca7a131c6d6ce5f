package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/words"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/pool"
)

// A Client is what the clients of the masters are told and no marker tells.
type Client struct {
	MaxTTL time.Duration // WithMaxTTL; 0: as the markers have it
	Skew   time.Duration // WithClientSkew
}

// A Verdict says whether a client can take a lock now, and if not, until when and
// what helps.
type Verdict struct {
	CanLock bool `json:"can_lock"`
	Votes   int  `json:"votes"`  // masters that vote now
	Quorum  int  `json:"quorum"` // how many have to
	// New: no master has a marker. The first guarded client declares the fleet, and
	// all vote from then on.
	New bool `json:"new_fleet,omitempty"`
	// At is when enough masters vote if nobody does anything, and InMS how long that
	// takes; left out where locks can be taken, and where waiting alone does not help.
	At   *time.Time `json:"at,omitempty"`
	InMS int64      `json:"in_ms,omitempty"`
	// Help is what else leads to a quorum, one thing an entry.
	Help []string `json:"help,omitempty"`

	seats []seat // in the order of the masters
}

// A seat is what one master counts.
type seat struct {
	vote   bool
	why    string // it does not vote
	timed  bool   // it votes in left if nobody does anything
	left   time.Duration
	help   string // what leads to its vote, "%s" for its name; "": another master's help does
	fresh  bool   // it had no marker, so it may be declared
	absent bool   // it cannot be reached
}

// String is the verdict on a line, without what helps.
func (v *Verdict) String() string {
	all := len(v.seats)
	switch {
	case v.New:
		return fmt.Sprintf("Can lock: YES. The fleet is new: the first client declares it, then %d of %d %s, %d needed.", all, all, mastersVote(all), v.Quorum)
	case v.CanLock:
		return fmt.Sprintf("Can lock: YES. %d of %d %s, %d needed.", v.Votes, all, mastersVote(all), v.Quorum)
	}
	no := fmt.Sprintf("Can lock: NO. %d of %d %s, %d needed; ", v.Votes, all, mastersVote(all), v.Quorum)
	if v.At == nil {
		return no + "waiting alone does not help."
	}
	votes := "votes"
	if v.Quorum == 1 {
		votes = "vote"
	}
	return no + fmt.Sprintf("%d %s at %s", v.Quorum, votes, words.Until(*v.At, time.Duration(v.InMS)*time.Millisecond))
}

// WorstVerdict is the place of the worst: of the fleet where no lock can be taken for
// longest, or else of the one of which the fewest masters may go away until none can be.
// Of equal ones it is the first.
func WorstVerdict(all []*Verdict) int {
	worst := 0
	for i, v := range all {
		if v.worse(all[worst]) {
			worst = i
		}
	}
	return worst
}

func (v *Verdict) worse(than *Verdict) bool {
	switch {
	case v.CanLock != than.CanLock:
		return !v.CanLock
	case v.CanLock:
		return v.spare() < than.spare()
	case v.At == nil || than.At == nil: // nil: waiting alone does not help
		return v.At == nil && than.At != nil
	default:
		return v.InMS > than.InMS
	}
}

// spare is how many masters may go away.
func (v *Verdict) spare() int {
	if v.New { // all vote as soon as somebody comes
		return len(v.seats) - v.Quorum
	}
	return v.Votes - v.Quorum
}

func mastersVote(n int) string {
	if n == 1 {
		return "master votes"
	}
	return "masters vote"
}

// newVerdict counts the masters that vote, by the guard's rules, as of now.
func newVerdict(facts []Facts, config guard.Config, now drift.Instant) Verdict {
	v := Verdict{Quorum: quorum.Need(len(facts)), seats: make([]seat, len(facts))}
	told := make([]guard.Facts, len(facts))
	for i := range facts {
		told[i] = facts[i].toGuard(config)
	}
	standings := config.Standings(told, now)
	conflict, fresh := false, 0
	for i, s := range standings {
		v.seats[i] = newSeat(&facts[i], s, told[i].Marker, config, now)
		conflict = conflict || s.Why != nil && s.Why.Cause == guard.OtherFleet
		if s.Why != nil && s.Why.Cause == guard.NoMarker && facts[i].complete() && facts[i].obstacle() == nil {
			fresh++
		}
	}
	// Beside a marker with other settings no master is given one.
	for i, s := range standings {
		if conflict && s.Why != nil && s.Why.Cause == guard.NoMarker {
			v.seats[i] = seat{why: s.Why.Error()}
		}
		if v.seats[i].vote {
			v.Votes++
		}
	}
	v.New = fresh == len(facts)
	v.CanLock = v.New || v.Votes >= v.Quorum
	if !v.CanLock {
		v.wait(now)
		v.advise(facts)
	}
	return v
}

// wait says when locks can be taken if nobody does anything.
func (v *Verdict) wait(now drift.Instant) {
	var lefts []time.Duration
	for _, s := range v.seats {
		if s.timed {
			lefts = append(lefts, s.left)
		}
	}
	slices.SortFunc(lefts, cmp.Compare[time.Duration])
	if missing := v.Quorum - v.Votes; missing <= len(lefts) {
		left := lefts[missing-1]
		at := now.Wall().Add(left)
		v.At, v.InMS = &at, left.Milliseconds()
	}
}

// advise names what leads to a quorum where waiting alone does not, or sooner.
func (v *Verdict) advise(facts []Facts) {
	var helps []string // in order, each once
	whom := map[string][]string{}
	fresh, away, absent := 0, 0, ""
	for i, s := range v.seats {
		if s.fresh {
			fresh++
		}
		if s.absent {
			away++
			absent += " --without " + facts[i].Master
		}
		if s.vote || s.help == "" || v.At != nil {
			continue
		}
		if whom[s.help] == nil {
			helps = append(helps, s.help)
		}
		whom[s.help] = append(whom[s.help], facts[i].Master)
	}
	for _, help := range helps {
		v.Help = append(v.Help, fmt.Sprintf(help, strings.Join(whom[help], ", ")))
	}
	if fresh > 0 && fresh+away == len(v.seats) && away <= len(v.seats)-v.Quorum {
		v.Help = append(v.Help, "If the whole fleet is new, declare it, and it votes at once: redlock-demo init"+absent)
	}
}

// newSeat is what one master counts for, by its standing and its marker.
func newSeat(f *Facts, s guard.Standing, m guard.Marker, config guard.Config, now drift.Instant) seat {
	if s.Vote {
		if o := f.obstacle(); o != nil {
			return *o
		}
		return seat{vote: true}
	}
	why := s.Why
	n := seat{why: why.Error()}
	switch why.Cause {
	case guard.NotConnected:
		n.absent = true
		n.help = "Start %s, or mend the network to it."
		if _, ok := errors.AsType[*pool.ConfigError](f.Down); ok {
			n.absent = false
			n.help = "Mend the credentials, the database number or the TLS settings of %s, or those given here."
		}
	case guard.NoMarker:
		n.fresh = true
		if f.Sighting == nil {
			n.help = begin
			break
		}
		// A client that comes then adopts it, as of when it was first seen so.
		n.left = max(0, config.Quarantine()-f.Sighting.Sighted-now.MonotonicSub(f.Sighting.Clock.Received))
		if n.timed = n.left > 0; !n.timed {
			n = seat{vote: true}
		}
	case guard.Quarantined:
		n.fresh = why.How == guard.HowAdopted || why.How == guard.HowCreated
		if m.Verdict != guard.Same {
			n.help = begin // its quarantine is what would be written now
			break
		}
		n.timed, n.left = true, why.Left
	default:
		n.help = cmp.Or(helps[why.Cause], "Permit the guard's commands on %s (docs/reference/wire.md).")
	}
	return n
}

// helps is what leads to the vote of a master that abstains for a cause, whatever else is known of it.
var helps = map[guard.Cause]string{
	guard.NotStandalone: "List independent masters instead of %s (docs/how-to/topologies.md).",
	guard.Moved:         "Take locks in both fleets, or in the new one alone: %s votes for who does (docs/how-to/moving-a-fleet.md).",
	guard.NotMaster:     "List the master of %s, or make it one: REPLICAOF NO ONE.",
	guard.MayEvict:      "CONFIG SET maxmemory-policy noeviction on %s, and in redis.conf.",
	guard.Duplicate:     "List every server once, and others in the place of %s.",
	guard.Unreadable:    "Permit +info on %s.",
	guard.OffClock:      "Set the clock of %s right, or this machine's, if that is off.",
	guard.NotOurs:       "Rename or delete " + guard.Key + " on %s.",
	guard.OtherFleet:    "List the masters of one fleet and use its settings; or redlock-demo init --force, when no client is running (%s).",
}

// begin is what helps where no client has seen yet that a master may have forgotten.
const begin = "Run a client, redlock-demo exec for one: the quarantine of %s begins when one sees it."

// obstacle is why a master grants nothing though it may vote; nil: nothing is in the
// way.
func (f *Facts) obstacle() *seat {
	switch {
	case slices.ContainsFunc(f.Missing, func(p Permission) bool { return p.Vital }):
		return &seat{why: "it denies what locks need", help: "Permit what locks need on %s: the ACL lines are below."}
	case f.Info["loading"] == "1":
		return &seat{why: "it is still loading its data", help: "Wait until %s has loaded its data."}
	case f.Info["aof_last_write_status"] != "" && f.Info["aof_last_write_status"] != "ok":
		return &seat{why: "it cannot write its append-only file, and refuses every write", help: "Mend the disk of %s."}
	}
	return nil
}

// complete reports whether INFO tells all that the guard wants to know.
func (f *Facts) complete() bool {
	return f.InfoErr == nil && f.Info["run_id"] != "" && f.Info["role"] != "" && f.Info["maxmemory_policy"] != ""
}

var errNoTime = errors.New("TIME cannot be read")

// toGuard is what the guard of a client would know of the master.
func (f *Facts) toGuard(config guard.Config) guard.Facts {
	g := guard.Facts{
		Master: f.Master, DB: f.DB, Connected: f.Down == nil, Err: f.Down, InfoErr: f.InfoErr,
		Info: guard.Info{
			RunID: f.Info["run_id"], Role: f.Info["role"], Policy: f.Info["maxmemory_policy"], Mode: f.Info["redis_mode"],
		},
	}
	switch {
	case f.MarkerErr != nil:
		g.MarkerErr = f.MarkerErr
	case f.Clock.Time.IsZero():
		g.MarkerErr = errNoTime
	default:
		g.Answer(f.look(config))
	}
	return g
}

// look is what the dial script would answer.
func (f *Facts) look(config guard.Config) guard.Marker {
	var stored guard.Stored
	if f.Marker != nil {
		stored = *f.Marker
	}
	run := f.Info["run_id"]
	if run == "" {
		run = stored.Run // nothing is known of a restart: INFO is a finding of its own
	}
	m := config.Look(stored, run, f.Info["master_replid"], f.Clock)
	if m.Written() && m.DB != "" && m.DB != strconv.Itoa(f.DB) {
		m.Verdict = guard.Conflict
	}
	return m
}
