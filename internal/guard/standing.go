package guard

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redquorum/redquorum/drift"
)

// A Standing says whether a master may vote.
type Standing struct {
	Master string
	Vote   bool
	Why    *AbstainError // why not; nil exactly when it votes

	// Aliases are the other addresses that lead to the same server, sorted. One of all these
	// addresses has the vote. Each of them lists the others.
	Aliases []string
	// Unguarded says why the master votes although INFO could not be read, or not all of it; only
	// in level standard. If INFO gives the run_id, the marker is judged all the same.
	Unguarded error
}

// String is one line for people.
func (s Standing) String() string {
	text := "votes"
	if !s.Vote {
		text = "does not vote: " + s.Why.Error()
	}
	if s.Vote && len(s.Aliases) > 0 {
		text += ", but only once together with " + strings.Join(s.Aliases, ", ") +
			", which is the same server: list every server once"
	}
	if s.Vote && s.Unguarded != nil {
		text += ", unguarded: a restart, an eviction, a replica or a second address of one server may go unnoticed, " +
			"because " + oneLine(s.Unguarded.Error()) + "; grant +info"
	}
	return text
}

// Standings judges all masters of the list together, as of now. The result has their order, and
// none of it depends on that order. Among masters with the same run_id at most one votes: the one
// whose address sorts first, so that all clients with the same list choose the same.
//
// A Standing holds until the Facts change. Only Quarantined ends by itself, after
// AbstainError.Left.
func (c Config) Standings(facts []Facts, now drift.Instant) []Standing {
	standings := make([]Standing, len(facts))
	var off []*AbstainError
	for i, f := range facts {
		standings[i] = Standing{Master: f.Master}
		s := &standings[i]
		var first bool
		first, s.Aliases = aliases(facts, i)
		s.Why = c.judge(f, first, s.Aliases, now)
		if s.Vote = s.Why == nil; s.Vote && c.Level == Standard && f.unguarded() {
			s.Unguarded = f.unreadable()
		}
		if s.Why != nil && s.Why.Cause == OffClock {
			off = append(off, s.Why)
		}
	}
	SuspectOurselves(off, len(facts)/2+1)
	c.outvoted(facts, standings)
	return standings
}

// outvoted takes away the votes if clients with a list of another length may have a quorum among
// these masters. It counts the masters that last named one such fleet (with one number of masters,
// MaxTTL and level), and those that have said nothing yet. If they are a quorum of that fleet, it
// may share no master with ours.
func (c Config) outvoted(facts []Facts, standings []Standing) {
	if c.Level == Off {
		return
	}
	unheard := 0
	said := make(map[string][]string) // by settings: the masters that say so
	for _, f := range facts {
		switch {
		case f.Word == None:
			unheard++
		case f.Word == Conflict && f.Other.Masters != strconv.Itoa(c.Masters):
			said[f.Other.Settings()] = append(said[f.Other.Settings()], f.Master)
		}
	}
	for _, f := range facts {
		n, err := strconv.Atoi(f.Other.Masters)
		by := said[f.Other.Settings()]
		if f.Word != Conflict || err != nil || n < 1 || len(by) == 0 || len(by)+unheard < n/2+1 {
			continue
		}
		for i := range standings {
			s := &standings[i]
			if !s.Vote && s.Why.Cause != Quarantined && s.Why.Cause != NoMarker && s.Why.Cause != Changed {
				continue // its cause lasts until somebody acts, or the master says more
			}
			s.Vote, s.Unguarded = false, nil
			s.Why = &AbstainError{Cause: OtherFleet, Value: f.Other.Settings(), Want: c.settings(), Aliases: by}
		}
		return
	}
}

// aliases finds the other connected masters with the run_id of master i. first reports whether i
// has the vote for all of them.
func aliases(facts []Facts, i int) (first bool, others []string) {
	first = true
	run := facts[i].Info.RunID
	if !facts[i].Connected || run == "" {
		return true, nil
	}
	for j, f := range facts {
		if j == i || !f.Connected || f.Info.RunID != run {
			continue
		}
		others = append(others, f.Master)
		if f.Master < facts[i].Master || f.Master == facts[i].Master && j < i {
			first = false
		}
	}
	slices.Sort(others)
	return first, others
}

// unguarded reports whether INFO does not say enough to judge the master.
func (f Facts) unguarded() bool {
	return f.InfoErr != nil || f.Info.RunID == "" || f.Info.Role == "" || f.Info.Policy == "" || f.historyless()
}

// historyless reports whether the scripts cannot read the history of its data.
func (f Facts) historyless() bool { return f.Marker.Verdict.written() && f.Marker.Replid == "" }

// unreadable returns the reason why unguarded is true.
func (f Facts) unreadable() error {
	if f.InfoErr != nil {
		return f.InfoErr
	}
	if f.historyless() {
		return errors.New("scripts cannot read master_replid of INFO replication")
	}
	return fmt.Errorf("INFO says run_id %q, role %q, maxmemory_policy %q", f.Info.RunID, f.Info.Role, f.Info.Policy)
}

// judge returns why a master may not vote, nil when it may.
func (c Config) judge(f Facts, first bool, others []string, now drift.Instant) *AbstainError {
	if !f.Connected {
		return &AbstainError{Cause: NotConnected, Err: f.Err}
	}
	if c.Level != Off {
		if r := refuse(f.Info); r != nil {
			return r
		}
	}
	if !first {
		return &AbstainError{Cause: Duplicate, Value: f.Info.RunID, Aliases: others}
	}
	switch {
	case c.Level == Off:
		return nil
	case f.unguarded() && c.Level == Strict:
		return &AbstainError{Cause: Unreadable, Err: f.unreadable()}
	}
	if lacking := f.Refused.Lacking(vital); lacking != nil {
		return lacking
	}
	if f.Info.RunID == "" {
		return nil // unguarded: a marker says nothing about an unknown process
	}
	return c.JudgeMarker(f, now)
}

// refuse returns why a server is unfit to keep locks, by what INFO says of it; nil if it is fit.
func refuse(i Info) *AbstainError {
	switch {
	case i.Mode != "" && i.Mode != "standalone":
		return &AbstainError{Cause: NotStandalone, Value: quote(i.Mode), Want: "standalone"}
	case i.Role != "" && i.Role != "master":
		return &AbstainError{Cause: NotMaster, Value: quote(i.Role), Want: "master"}
	case i.Policy != "" && i.Policy != "noeviction":
		return &AbstainError{Cause: MayEvict, Value: quote(i.Policy), Want: "noeviction"}
	}
	return nil
}

// JudgeMarker judges a master whose run_id is known, by its marker and its clock alone. It returns
// why the master may not vote, nil when it may.
func (c Config) JudgeMarker(f Facts, now drift.Instant) *AbstainError {
	m := f.Marker
	if m.Verdict == None || m.Verdict == Present || f.MarkerErr != nil {
		return &AbstainError{Cause: Unmarked, Err: f.MarkerErr}
	}
	if c.Level == Strict {
		by := m.Clock.Offset()
		if m.Verdict == Skewed || by.Beyond(c.Skew()) {
			return &AbstainError{Cause: OffClock, By: by, Want: c.Skew().String()}
		}
	}
	switch {
	case m.Verdict == WrongType:
		return &AbstainError{Cause: NotOurs, Value: quote(m.Type), Want: "hash"}
	case m.Verdict == Missing:
		r := &AbstainError{Cause: NoMarker}
		if f.known() {
			r.How = HowEmptied
		}
		if f.stranger() {
			r.Left = max(1, c.settling(f)-f.sightedFor(now))
			r.Until = now.Wall().Add(r.Left)
		}
		return r
	case m.Verdict == Conflict || !m.Matches(c):
		return f.otherFleet(c)
	case f.Changed:
		return &AbstainError{Cause: Changed, Value: "run " + quote(m.Run) + ", since " + quote(m.Since)}
	case m.Run != f.Info.RunID:
		return &AbstainError{Cause: Changed, Value: "run " + quote(m.Run) + " for run_id " + quote(f.Info.RunID)}
	}
	return c.quarantine(f, now)
}

// otherFleet says how the marker differs from what this client wants.
func (f Facts) otherFleet(c Config) *AbstainError {
	r := &AbstainError{Cause: OtherFleet, Value: f.Marker.Settings(), Want: c.settings()}
	if db := strconv.Itoa(f.DB); f.Marker.DB != "" && f.Marker.DB != db {
		r.Value += ", database " + quote(f.Marker.DB)
		r.Want += ", database " + db
	}
	return r
}

// quarantine returns for how much longer a master has to wait, nil when it has waited long enough.
func (c Config) quarantine(f Facts, now drift.Instant) *AbstainError {
	q := c.quarantineAfter(duration(f.Marker.Was))
	age, ok := f.age(now)
	if ok && age >= q {
		return nil
	}
	how := f.Marker.How
	if raw, _ := f.Marker.Age(now); raw >= q && !f.Age.back.IsZero() {
		how = HowRestored
	}
	return &AbstainError{
		Cause: Quarantined, Value: age.Truncate(1e6).String() + " ago", Want: q.String(), How: how,
		Left: q - age, Until: now.Wall().Add(q - age),
	}
}

// SuspectOurselves sets Ours in the errors of one direction if at least need clocks are off in it:
// then it is more likely that our own clock is wrong.
func SuspectOurselves(off []*AbstainError, need int) {
	var ahead, behind int
	for _, why := range off {
		switch {
		case why.By.Low > 0:
			ahead++
		case why.By.High < 0:
			behind++
		}
	}
	for _, why := range off {
		why.Ours = why.By.Low > 0 && ahead >= need || why.By.High < 0 && behind >= need
	}
}

// settings is what has to be equal for all clients of a fleet.
func (c Config) settings() string {
	return fmt.Sprintf("%d masters, MaxTTL %v, level %v", c.Masters, c.MaxTTL, c.Level)
}

// Settings is what the marker says of its fleet, for people.
func (m Fields) Settings() string {
	ttl := quote(m.MaxTTL) + " ms"
	if ms, err := strconv.ParseInt(m.MaxTTL, 10, 44); err == nil && ms >= 0 {
		ttl = millisText(ms)
	}
	s := fmt.Sprintf("%s masters, MaxTTL %s, level %s", quote(m.Masters), ttl, quote(m.LevelIs))
	if m.Version != Version {
		s += fmt.Sprintf(", version %s instead of %s", quote(m.Version), Version)
	}
	if m.To != "" {
		s += fmt.Sprintf(", to %s", quote(m.To))
	}
	return s
}

// quote returns what a master said: a plain word as it is, anything else quoted and cut.
func quote(s string) string {
	if credible([]byte(s)) && !strings.ContainsAny(s, `"'\`) {
		return s
	}
	return fmt.Sprintf("%.64q", s)
}
