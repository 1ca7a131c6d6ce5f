package guard

// A Step is what to do about masters without a marker, in standard. (In strict
// the dial script has written one: a new fleet waits for its quarantine.)
type Step uint8

// The steps.
const (
	// Nothing: no master lacks a marker, or the clients disagree about the
	// fleet and nobody may write one.
	Nothing Step = iota
	// Wait: all that have answered lack a marker, and some have not answered.
	Wait
	// ToDeclare: all N lack one, so the fleet is new. Declare it on each, by the
	// connections that told so, and warn in the log.
	ToDeclare
	// ToAdopt: the fleet is not new, so these have lost their data or replace
	// others. Adopt them.
	ToAdopt
)

// Plan decides what to do about the masters without a marker, and returns their
// indices. The Facts must be of one pass: each read by the connection that is
// to carry what follows. A master that is not connected, or whose script has
// not answered, is waited for until final.
//
// A new fleet is one where all N masters, which are N servers fit to be masters,
// answer MISSING. All of them losing everything at once looks the same: only
// strict tells that apart.
func (c Config) Plan(facts []Facts, final bool) (Step, []int) {
	if c.Level != Standard {
		return Nothing, nil
	}
	var missing []int
	fit, pending, others := 0, 0, 0
	for i, f := range facts {
		first, _ := twins(facts, i)
		switch {
		case !f.Connected || f.unasked():
			pending++
		case f.MarkerErr == nil && f.Marker.Verdict == Conflict:
			return Nothing, nil
		case f.MarkerErr != nil || f.Marker.Verdict != Missing || f.Info.RunID == "" || !first || refuse(f.Info) != nil:
			others++
		default:
			missing = append(missing, i)
			if !f.unguarded() {
				fit++
			}
		}
	}
	switch {
	case missing == nil:
		return Nothing, nil
	case fit == c.Masters && fit == len(facts):
		return ToDeclare, missing
	case others > 0 || pending == 0 || final:
		return ToAdopt, missing
	default:
		return Wait, nil
	}
}

// unasked reports whether the marker's script is still to answer. It is not
// asked where INFO has already ruled the server out or told no run_id.
func (f Facts) unasked() bool {
	return f.Marker.Verdict == None && f.MarkerErr == nil && f.Info.RunID != "" && refuse(f.Info) == nil
}
