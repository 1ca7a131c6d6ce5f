package guard

import (
	"time"

	"github.com/redquorum/redquorum/drift"
)

// Facts are what is known of one master from its present connection. Only Age, and what Memory
// keeps beside it, may come from an earlier one, which may have led to another process. People see the errors, and
// errors.Is reaches them through AbstainError. None may be a context's error, since one
// master's timeout is not the caller's.
type Facts struct {
	Master string // address: unique, for people
	DB     int    // number of the database of the locks

	Connected bool
	Err       error // why it is not connected
	// Pending: it is being dialled, has not answered its first questions yet, or its connection
	// timed out or broke. It may be up all the same.
	Pending bool

	Info    Info
	InfoErr error // why INFO, or a part of it, could not be read

	// Refused is what the master refuses to this user.
	Refused Refused
	// NoWrites is why the master took no write of a lock when it was last asked, whichever client
	// asks: it is full, busy or cannot save, or did not answer in time. nil: it took one, or
	// nothing is known. It keeps its vote: renewals and releases may still pass.
	NoWrites error

	// OtherList is another list of masters that clients use here.
	OtherList OtherList

	Marker    Marker // what the newest script answered; set it by Answer
	MarkerErr error  // why no script answered
	// Changed: a check has since found another marker than this one.
	Changed bool
	Age     Age // of Marker; set by Answer

	// Seen is Since of the marker that this client has seen there last, also on an earlier
	// connection: "0" for one of another fleet, "" for none. If it has seen one, the master is
	// not new, whatever it says now.
	Seen string
	// Ours says that this marker had our settings.
	Ours bool
	// Word is what the master last said of its marker, also on an earlier connection: Conflict,
	// Missing, or Same for one of our settings; None: nothing yet. With Conflict, Other is the
	// marker.
	Word  Verdict
	Other Fields
	// Longest is the greatest MaxTTL that any marker there has named, also on an earlier
	// connection.
	Longest time.Duration

	// missingFrom is when the first of the latest MISSING answers in a row was received; zero: the
	// latest answer is another.
	missingFrom drift.Instant
}

// Memory is what still holds on the next connection, and while there is none.
func (f Facts) Memory() Facts {
	return Facts{
		Master: f.Master, DB: f.DB, Age: f.Age, Seen: f.Seen, Ours: f.Ours,
		Word: f.Word, Other: f.Other, Longest: f.Longest,
	}
}

// Answer adds a script's answer on this connection.
func (f *Facts) Answer(m Marker) {
	switch {
	case m.Verdict != Missing:
		f.missingFrom = drift.Instant{}
	case f.missingFrom.IsZero():
		f.missingFrom = m.Clock.Received
	}
	f.Marker, f.MarkerErr, f.Changed = m, nil, false
	f.Age = f.Age.with(m)
	switch {
	case m.Written():
		f.Seen, f.Ours, f.Word = m.Since, true, Same
	case m.Verdict == Conflict:
		f.Seen, f.Ours, f.Word, f.Other = "0", false, Conflict, m.Fields
	case m.Verdict == Missing:
		f.Word = Missing
	}
	f.Longest = max(f.Longest, m.longest())
}

// Longest is the greatest MaxTTL that any of the masters has named.
func Longest(facts []Facts) (longest time.Duration) {
	for _, f := range facts {
		longest = max(longest, f.Longest)
	}
	return longest
}

// An Age is how long a master has remembered everything, as far as this client has seen. The client
// counts from its first look at a marker, by its own monotonic clock. So a master's clock that is
// set later makes no marker older. A marker that was lost and put back does not seem older, either:
// since only moves up, so a marker with an earlier since counts from the look that found it.
type Age struct {
	run, replid, since string // fields of its marker
	connection         bool   // seen on this connection
	age                time.Duration
	at                 drift.Instant
	back               drift.Instant // when an earlier marker was found last; zero: none was
}

// Earlier is the part of it that still holds on the next connection.
func (a Age) Earlier() Age {
	a.connection = false
	return a
}

// with returns the age after a look that found m. The receiver may be an earlier look at m.
func (a Age) with(m Marker) Age {
	age, ok := m.Age(m.Clock.Received)
	if !ok {
		return a // the marker may come back as it was
	}
	seen := Age{run: m.Run, replid: m.Replid, since: m.Since, connection: true, age: age, at: m.Clock.Received}
	if a.run == m.Run && a.replid == m.Replid {
		if seen.back = a.back; a.restoredTo(m) {
			seen.back = seen.at
		}
		if !seen.back.IsZero() {
			seen.age = min(age, seen.at.MonotonicSub(seen.back))
		}
	}
	if !a.of(m) || !a.connection && a.now(seen.at) > seen.age {
		return seen
	}
	a.connection = true
	return a
}

// restoredTo reports whether m, of the same process and history, is older than the marker that was
// seen last. It is false if an operator has declared the fleet in place of that marker.
func (a Age) restoredTo(m Marker) bool {
	before, _ := instant(a.since)
	now, ok := instant(m.Since)
	return ok && now.Before(before) && (m.How != HowDeclared || m.Seen != a.since)
}

func (a Age) of(m Marker) bool {
	return !a.at.IsZero() && a.run == m.Run && a.replid == m.Replid && a.since == m.Since
}

func (a Age) now(now drift.Instant) time.Duration { return a.age + now.MonotonicSub(a.at) }

// Aged is since of the marker if every lock that earlier settings may have allowed has expired; ""
// if that is not known, or no earlier MaxTTL was longer.
func (f Facts) Aged(c Config, now drift.Instant) string {
	if age, ok := f.age(now); ok && f.Marker.Was != "" && age >= c.quarantineAfter(duration(f.Marker.Was)) {
		return f.Marker.Since
	}
	return ""
}

// age is how long the master has remembered everything, at least; false: it has no marker of ours.
func (f Facts) age(now drift.Instant) (time.Duration, bool) {
	age, ok := f.Marker.Age(now)
	if ok && f.Age.of(f.Marker) {
		age = f.Age.now(now)
	}
	return age, ok
}
