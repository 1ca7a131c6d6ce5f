package demo

import (
	"encoding/json"
	"time"
)

// A Verdict is how a run ended.
type Verdict string

// The verdicts.
const (
	VerdictPassed      Verdict = "passed"      // every expectation that was checked held
	VerdictFailed      Verdict = "failed"      // an expectation did not hold
	VerdictNoQuorum    Verdict = "no quorum"   // there was none at the start
	VerdictInterrupted Verdict = "interrupted" // the context ended
	VerdictError       Verdict = "error"       // something failed that is not part of what is shown
)

// A Result is the result of a run, in the form for programs. Times are in milliseconds.
type Result struct {
	Verdict      Verdict       `json:"verdict"`
	Error        string        `json:"error,omitempty"` // set unless the verdict is passed or failed
	Started      time.Time     `json:"started"`
	Duration     Millis        `json:"duration_ms"`
	Versions     Versions      `json:"versions"`
	Settings     Settings      `json:"settings"`
	Phases       []Phase       `json:"phases"`
	Expectations []Expectation `json:"expectations"`
	Skipped      []Skipped     `json:"skipped"`
	Masters      []Master      `json:"masters"` // at the end
}

// Versions are those of the software that took part.
type Versions struct {
	Program string `json:"redlock_demo"`
	Go      string `json:"go"`
	Masters string `json:"masters,omitempty"` // empty for masters that are not ours
}

// Settings are the settings of a run.
type Settings struct {
	Masters Kind   `json:"masters"`
	Quorum  int    `json:"quorum"`
	Buyers  int    `json:"buyers"`
	Clients int    `json:"clients"`
	Stock   int    `json:"stock"`
	TTL     Millis `json:"ttl_ms"`
	Key     string `json:"key"`
}

// A Phase is a part of the run that was measured by itself.
type Phase struct {
	Name       string   `json:"name"`
	Lock       bool     `json:"lock"`
	MastersUp  int      `json:"masters_up"`
	Duration   Millis   `json:"duration_ms"`
	Sales      int      `json:"sales"`
	Refused    int      `json:"refused"`
	P50        Millis   `json:"p50_ms"` // of a sale, waiting for the lock included; 0 without sales
	P99        Millis   `json:"p99_ms"`
	Inventory  *Stock   `json:"inventory,omitempty"`   // of the phases that sell out
	MostInside int      `json:"most_inside,omitempty"` // buyers at the stock at the same time
	Recovery   *Millis  `json:"recovery_ms,omitempty"` // from a master's return to the first sale
	Causes     []Master `json:"causes,omitempty"`      // per master, why the last buyer was refused
	Note       string   `json:"note,omitempty"`
}

// A Stock is an inventory that was sold out.
type Stock struct {
	Before   int `json:"before"`
	After    int `json:"after"`
	Oversold int `json:"oversold"` // pieces sold that were not there
}

// An Expectation is one thing that has to hold, and whether it did.
type Expectation struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
}

// A Skipped is a part of the run that was left out.
type Skipped struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// A Master is the state of one master.
type Master struct {
	Address string `json:"master"`
	// State is up, gone, silent, refuses or abstains. In a list of causes it is agreed,
	// failed, or moot (not awaited).
	State     string `json:"state"`
	Cause     string `json:"cause,omitempty"`
	RoundTrip Millis `json:"round_trip_ms,omitempty"`
}

// reached reports whether the master answers, whether it votes or not.
func (m Master) reached() bool { return m.State == seenUp || m.State == seenAbstains }

// Failed counts the expectations that did not hold.
func (r *Result) Failed() int {
	n := 0
	for _, e := range r.Expectations {
		if !e.OK {
			n++
		}
	}
	return n
}

func (r *Result) expect(name string, ok bool, detail string) {
	r.Expectations = append(r.Expectations, Expectation{name, ok, detail})
}

// Millis is a duration that is a number of milliseconds in JSON, to the microsecond.
type Millis time.Duration

// MarshalJSON returns a number.
func (m Millis) MarshalJSON() ([]byte, error) {
	return json.Marshal(float64(time.Duration(m).Round(time.Microsecond)) / float64(time.Millisecond))
}

func (m Millis) duration() time.Duration { return time.Duration(m) }
