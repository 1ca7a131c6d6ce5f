package doctor

import (
	"strconv"
	"strings"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
)

// Facts are what one master has told.
type Facts struct {
	Master string // its address
	DB     int    // number of the database of the locks
	Down   error  // why it cannot be asked; nil: it can

	RoundTrips []time.Duration   // sorted
	Info       map[string]string // nil: InfoErr
	InfoErr    error
	Config     map[string]string // nil: ConfigErr
	ConfigErr  error
	Marker     *guard.Stored // nil: none, or MarkerErr
	MarkerErr  error
	// Sighting is what stands on the master since when it has no marker; nil: it has
	// one, or none could be written.
	Sighting *guard.Marker
	Missing  []Permission // that it denies
	User     string       // the ACL user; "": not known

	HasClock  bool
	Clock     drift.Reading // of its clock, at about the same time as Marker; zero: there is none
	Offset    drift.Span    // of its clock
	HasRate   bool
	RateLow   float64 // by how much faster than ours it runs, at least
	RateHigh  float64
	Deviation string // how its clock moved while it was watched; "": as it should

	TLS     bool
	Expires time.Time // of its certificate; zero: not known
}

// fleet is the one that the marker names; false: there is no such marker.
func (f *Facts) fleet() (guard.Config, bool) {
	if f.Marker == nil {
		return guard.Config{}, false
	}
	return f.Marker.Fleet()
}

// parseInfo reads what INFO says, of all its sections, with the names that Redis has
// for the fields.
func parseInfo(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok && !strings.HasPrefix(name, "#") {
			fields[guard.InfoField(name)] = value
		}
	}
	return fields
}

// persistence is what the master keeps over a restart, in a word or two.
func (f *Facts) persistence() string {
	appends, sync := f.Config["appendonly"], f.Config["appendfsync"]
	switch {
	case f.Config != nil && appends == "yes" && sync != "":
		return "aof " + sync
	case f.Config != nil && appends == "no":
		return "none"
	case f.Config == nil && f.Info["aof_enabled"] == "0":
		return "none"
	case f.Config == nil && f.Info["aof_enabled"] == "1":
		return "aof, fsync unknown"
	default:
		return "unknown"
	}
}

func (f *Facts) policy() string {
	if p := f.Info["maxmemory_policy"]; p != "" {
		return p
	}
	return f.Config["maxmemory-policy"]
}

// version is the first two numbers of the version; false: unknown.
func (f *Facts) version() (major, minor int, ok bool) {
	parts := strings.SplitN(f.Info["redis_version"], ".", 3)
	if len(parts) < 2 {
		return 0, 0, false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return major, minor, err1 == nil && err2 == nil
}
