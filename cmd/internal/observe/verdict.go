package observe

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/pool"
)

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
	// Help is what else leads to a quorum, one thing for each entry.
	Help []string `json:"help,omitempty"`
	// Masters are all of them, in the order of the list.
	Masters []Vote `json:"masters"`

	voters   []voter // in the order of the masters
	declared int     // how many of them the next client declares
}

// A Vote says whether a master votes now.
type Vote struct {
	Master   string `json:"master"`
	Votes    bool   `json:"votes"`
	Abstains string `json:"abstains,omitempty"` // why it does not vote
}

// A voter is what a verdict knows about one master.
type voter struct {
	master string
	vote   bool
	why    string // why it does not vote
	timed  bool   // it votes in left if nobody does anything
	left   time.Duration
	help   string // advice that leads to its vote, "%s" for its name; "": none
	fresh  bool   // it had no marker before, as far as is known, so it may be declared
	absent bool   // it cannot be reached
	// declared: the next client declares it, because the fleet is new.
	declared bool
}

// String returns the verdict on one line, without the help.
func (v *Verdict) String() string {
	const yes = "Can lock: YES. "
	all := len(v.voters)
	vote := fmt.Sprintf("of %s %s, %d needed", term.Count(all, "master"), term.Does(all, "vote"), v.Quorum)
	switch {
	case v.New:
		return yes + fmt.Sprintf("The fleet is new: the first client declares it, then %d %s.", v.declared, vote)
	case v.CanLock:
		return yes + fmt.Sprintf("%d %s.", v.Votes, vote)
	}
	no := fmt.Sprintf("Can lock: NO. %d %s; ", v.Votes, vote)
	if v.At == nil {
		return no + "waiting alone does not help."
	}
	until := term.Until(*v.At, time.Duration(v.InMS)*time.Millisecond)
	return no + term.Count(v.Quorum, "vote") + " at " + until
}

// AllVote reports whether every master votes, or will when the first client declares the fleet.
func (v *Verdict) AllVote() bool { return max(v.Votes, v.declared) == len(v.voters) }

// Verdict says whether a client that comes now can take a lock.
func (l *Look) Verdict() *Verdict {
	v := &Verdict{Quorum: quorum.Need(len(l.Standings))}
	plan := l.Config.Plan(l.Facts, l.At)
	v.New = plan.Step == guard.Again || plan.Step == guard.ToDeclare
	for i := range l.Standings {
		s := l.voter(i, plan)
		if s.declared {
			v.declared++
		}
		if s.vote {
			v.Votes++
			s.why = ""
		}
		v.voters = append(v.voters, s)
		v.Masters = append(v.Masters, Vote{s.master, s.vote, s.why})
	}
	v.New = v.New && v.declared >= v.Quorum
	v.CanLock = v.New || v.Votes >= v.Quorum
	if !v.CanLock {
		v.wait(l.At)
		v.advise()
	}
	return v
}

// voter returns what the verdict knows about one master.
func (l *Look) voter(i int, plan guard.Plan) voter {
	s := voter{master: l.Standings[i].Master}
	why := l.Standings[i].Why
	switch {
	case l.Refuses[i] != nil:
		s.why, s.help = explain.Short(l.Refuses[i]), explain.Help(l.Refuses[i])
		return s
	case why == nil:
		s.vote = true
		return s
	}
	s.why = explain.Short(why)
	switch marker := l.Facts[i].Marker; {
	case why.Cause == guard.NoMarker:
		s.fresh = why.How != guard.HowEmptied
		s.declared = plan.Step == guard.Again || plan.Step == guard.ToDeclare
		if plan.Step != guard.Nothing && !s.declared { // otherwise another fleet's marker prevents it
			// A client that comes then adopts it, as of when it was first seen without a marker.
			s.left = max(0, l.Config.Quarantine()-marker.Sighted-l.At.MonotonicSub(marker.Clock.Received))
			s.timed, s.vote = s.left > 0, s.left == 0
		}
	case why.Cause == guard.Quarantined:
		s.fresh = why.How == guard.HowAdopted
		if marker.Verdict != guard.Same {
			// The quarantine begins when a client sees that the master may have forgotten locks.
			s.help = begin
			s.why, _, _ = strings.Cut(s.why, ";") // the rest is for a quarantine that has begun
			s.why += ", and no client has seen that yet"
		} else {
			s.timed, s.left = true, why.Left
		}
	default:
		_, refuses := errors.AsType[*pool.ConfigError](why)
		s.absent, s.help = why.Cause == guard.NotConnected && !refuses, explain.Help(why)
	}
	return s
}

// begin is the advice for a quarantine that has not begun.
const begin = "Run a client, redlock exec for one: the quarantine of %s begins when one sees it."

// On reports whether master i votes, and if not, why.
func (v *Verdict) On(i int) (votes bool, why string) { return v.voters[i].vote, v.voters[i].why }

// wait sets when locks can be taken if nobody does anything.
func (v *Verdict) wait(now drift.Instant) {
	var lefts []time.Duration
	for _, s := range v.voters {
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

// advise sets what leads to a quorum where waiting alone does not, or sooner.
func (v *Verdict) advise() {
	var helps explain.Helps
	fresh := 0
	var absent []string
	for _, s := range v.voters {
		if s.fresh {
			fresh++
		}
		if s.absent {
			absent = append(absent, s.master)
		}
		if !s.vote && v.At == nil {
			helps.Add(s.help, s.master)
		}
	}
	v.Help = helps.Sentences()
	switch {
	case fresh == 0 || fresh+len(absent) < len(v.voters):
	case absent == nil:
		v.Help = append(v.Help, "If the whole fleet is new, declare it, and it votes at once: redlock init")
	default:
		v.Help = append(v.Help, "If the whole fleet is new, start "+strings.Join(absent, ", ")+
			" and declare it, and it votes at once: redlock init")
	}
}

// PrintVerdict prints whether a lock can be taken, which masters do not vote, why, and what helps.
func PrintVerdict(b *bytes.Buffer, l term.Layout, v *Verdict) {
	l.Text(b, "", 0, v.String())
	var reasons []string
	names := map[string][]string{} // by the reason
	for _, m := range v.Masters {
		if m.Votes || v.New {
			continue
		}
		if names[m.Abstains] == nil {
			reasons = append(reasons, m.Abstains)
		}
		names[m.Abstains] = append(names[m.Abstains], m.Master)
	}
	for _, reason := range reasons {
		l.Text(b, "  ✗ ", 4, strings.Join(names[reason], ", ")+": "+term.Clean(reason))
	}
	for _, help := range v.Help {
		l.Text(b, "  → ", 4, help)
	}
}
