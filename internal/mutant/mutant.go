// Package mutant names mistakes that the library could make, so that the proof
// can show that it would find them. In a normal build Is is the constant false
// and every use of it is compiled away. With the build tag mutants, which only
// test/proof sets, one of them may be switched on at a time.
package mutant

// An ID is one mistake.
type ID uint8

// The mistakes. None is the library as it is.
const (
	None                  ID = iota
	HalfQuorum               // N/2 masters are enough
	ReleaseWithoutCompare    // a release deletes whatever is there
	OneToken                 // all attempts of a call have one token
	ElapsedIgnored           // validity runs from the decision
	RollbackByCaller         // nothing is rolled back once the caller's context is over
	LossTimerMoved           // an extension on its way postpones the loss
	ExtensionShortens        // an extension sets the TTL, be it shorter
	ResetCounts              // an extension counts masters that had lost the key
	LateReplyCounts          // a late reply counts in the next attempt's tally
	NoRaise                  // a fencing token that few masters store is not raised on the others
	NoReaderRaise            // nor is that which a reader has met
	RaiseByOwner             // it is raised wherever the token is the owner's
	QuarantinedCounts        // a quarantined master counts in an extension
	MixedFleetIsNew          // what lost its data is declared new as if all masters had
	NoSkewTerm               // strict: validity is not reduced by 2S
	NoLease                  // strict: nobody looks at lease records
	NoClockError             // strict: validity is not reduced by E
	JoinedOvertaken          // a release that is joined with others falls behind what follows it about its key
	JoinedForgets            // of the releases that are joined the last is left out
)

func (id ID) String() string {
	return [...]string{
		"none",
		"quorum of N/2",
		"no compare in release",
		"one value for all attempts",
		"elapsed not subtracted",
		"rollback on the caller's context",
		"loss timer moved by an extension in flight",
		"an extension that shortens",
		"extension that counts re-set masters",
		"a reused tally that takes a late reply",
		"no raise round",
		"no raise round of readers",
		"raise without the compare-and-set",
		"a quarantined master counted in an extension",
		"a mixed fleet taken for new",
		"no 2S in strict mode",
		"no lease record under a corrected jump",
		"E not subtracted",
		"a joined release that is overtaken",
		"a joined release that is left out",
	}[id]
}
