package guard

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redquorum/redquorum/drift"
)

// Stored is what stands at Key in Redis, for callers that only read.
type Stored struct {
	Type string // of the key, as TYPE tells; "" and none: nothing is there
	Fields
}

// ReadStored is the command, with its arguments, whose reply ParseStored takes. Redis refuses it
// if the key is no hash.
func ReadStored() (command string, args []any) { return "HMGET", append([]any{Key}, fieldNames...) }

// ParseStored reads the reply, as redigo returns it; false: there is nothing in
// it, or it is none.
func ParseStored(reply any) (Stored, bool) {
	parts, ok := reply.([]any)
	if !ok || len(parts) != len(fieldNames) {
		return Stored{}, false
	}
	s := Stored{Type: "hash"}
	found := false
	for i, text := range s.texts() {
		b, ok := parts[i].([]byte)
		found = found || ok
		*text = string(b[:min(len(b), maxValue)])
	}
	return s, found
}

// Stored is the marker that this fleet's have to be like, of a process that
// remembers since an instant of its own clock, in ms.
func (c Config) Stored(run string, since int64) Stored {
	return Stored{Type: "hash", Fields: Fields{
		Version: Version, Run: run, Since: strconv.FormatInt(since, 10),
		MaxTTL: millis(c.MaxTTL), Masters: strconv.Itoa(c.Masters), LevelIs: c.Level.String(),
	}}
}

// Fleet is the configuration that the marker names, with the default drift;
// false: it is none of this version.
func (s Stored) Fleet() (Config, bool) {
	c := Config{Drift: drift.Default}
	for _, level := range []Level{Standard, Strict} {
		if level.String() == s.LevelIs {
			c.Level = level
		}
	}
	ms, err := strconv.ParseInt(s.MaxTTL, 10, 64)
	n, err2 := strconv.Atoi(s.Masters)
	if err != nil || err2 != nil || ms > math.MaxInt64/int64(time.Millisecond) {
		return Config{}, false
	}
	c.MaxTTL, c.Masters = time.Duration(ms)*time.Millisecond, n
	if c.Level == Off || c.Validate() != nil || !s.Matches(c) {
		return Config{}, false
	}
	return c, true
}

// Matches reports whether the marker is one of this fleet's, as far as all its
// masters have it in common. One of version 1 is, too: the scripts take it over.
func (s Stored) Matches(c Config) bool {
	return (s.Version == Version || s.Version == "1") && s.MaxTTL == millis(c.MaxTTL) && s.Masters == strconv.Itoa(c.Masters) && s.LevelIs == c.Level.String()
}

// String is what it says of its fleet, for people.
func (s Stored) String() string {
	if c, ok := s.Fleet(); ok {
		return c.String()
	}
	return s.Settings()
}

// String is what all clients of the fleet have in common, for people.
func (c Config) String() string {
	masters := "masters"
	if c.Masters == 1 {
		masters = "master"
	}
	return fmt.Sprintf("%d %s, %v, longest TTL %v", c.Masters, masters, c.Level, c.MaxTTL)
}

// Look is what Dial would answer to a client of this fleet, and so what it would write. It goes
// by what is stored at a master with this run_id and master_replid, and by a reading of its
// clock. It does not look at the sighting. It does not know the database or the fleet's id, and
// takes them as stored.
func (c Config) Look(s Stored, run, replid string, clock drift.Reading) Marker {
	m := Marker{Clock: clock}
	now := strconv.FormatInt(clock.Time.UnixMilli(), 10)
	quarantined := func(verdict Verdict, how string) {
		m.Verdict = verdict
		s.Run, s.Replid, s.Since, s.How, s.Without = run, replid, now, how, ""
		s.Wall = strconv.FormatInt(clock.Sent.Wall().UnixMilli(), 10)
	}
	switch {
	case c.Level == Strict && clock.Offset().Beyond(c.Skew()):
		m.Verdict = Skewed
		return m
	case s.Type == "" || s.Type == "none":
		if m.Verdict = Missing; c.Level == Strict {
			s = c.Stored(run, clock.Time.UnixMilli())
			quarantined(Created, HowCreated)
		}
	case s.Type != "hash":
		m.Verdict, m.Type = WrongType, s.Type
		return m
	case !s.Matches(c):
		m.Verdict = Conflict
	case s.Run != run:
		quarantined(Restarted, HowRestarted)
	case s.Replid != "" && replid != "" && s.Replid != replid:
		quarantined(Restarted, HowResynced)
	default:
		m.Verdict = Same
		if since, ok := instant(s.Since); !ok || since.UnixMilli() > clock.Time.UnixMilli() {
			quarantined(Reset, HowReset)
		}
	}
	if m.Written() {
		s.Version = Version // an older one is taken over
		if s.Replid == "" {
			s.Replid = replid
		}
	}
	m.Fields = s.Fields
	return m
}
