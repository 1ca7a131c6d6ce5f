//go:build mutants

package mutants

import (
	"github.com/redquorum/redquorum/internal/model"
	"github.com/redquorum/redquorum/internal/mutant"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/proof/history"
	"github.com/redquorum/redquorum/test/proof/sim"
)

// A mistake, and where it is found.
type mistake struct {
	name    string
	id      mutant.ID          // what the library gets wrong
	setting func(*sim.Profile) // or what is set wrongly; nil: nothing
	model   model.Mutant       // the same in the exhaustive model; 0: it is not there

	profile string // of the simulation; "": it cannot find this one
	kind    string // of the violation
	budget  uint64 // seeds
}

// mistakes is the list of docs/verification.md.
var mistakes = []mistake{
	{
		name: "quorum of N/2", id: mutant.HalfQuorum, model: model.QuorumHalf,
		profile: "edges", kind: history.Overlap, budget: 10,
	},
	{
		name: "no compare in release", id: mutant.ReleaseWithoutCompare, model: model.NoCompare,
		profile: "edges", kind: history.Overlap, budget: 10,
	},
	{
		name: "one value for all attempts", id: mutant.OneToken, model: model.OneToken,
		profile: "echoes", kind: history.Overlap, budget: 10,
	},
	{
		name: "elapsed not subtracted", id: mutant.ElapsedIgnored, model: model.NoElapsed,
		profile: "edges", kind: history.Overlap, budget: 10,
	},
	{
		name: "no drift term", setting: func(p *sim.Profile) { p.NoDrift = true }, model: model.NoDrift,
		profile: "drift", kind: history.Overlap, budget: 15,
	},
	{
		name: "restart without guard", setting: func(p *sim.Profile) { p.Guard = redlock.GuardOff }, model: model.NoQuarantine,
		profile: "guarded", kind: history.Overlap, budget: 20,
	},
	{
		name: "rollback on the caller's context", id: mutant.RollbackByCaller,
		profile: "litter", kind: history.Litter, budget: 5,
	},
	{
		name: "loss timer moved by an extension in flight", id: mutant.LossTimerMoved, model: model.TimerMoved,
		profile: "partitions", kind: history.Overlap, budget: 20,
	},
	{
		name: "an extension that shortens", id: mutant.ExtensionShortens, model: model.Shortens,
		profile: "adoptions", kind: history.Overlap, budget: 15,
	},
	{
		name: "a reused tally that takes a late reply", id: mutant.LateReplyCounts, model: model.LateVote,
		profile: "edges", kind: history.Overlap, budget: 10,
	},
	{
		name: "no raise round", id: mutant.NoRaise,
		profile: "raises", kind: history.Fence, budget: 100,
	},
	{
		name: "no raise round of readers", id: mutant.NoReaderRaise,
		profile: "readers' raises", kind: history.Fence, budget: 30,
	},
	// Found by verification/fence.pml (make spin, RAISE_IF_OWNER): the simulation
	// has not come across it.
	{name: "raise without the compare-and-set", id: mutant.RaiseByOwner},
	{
		name: "a resource that does not compare tokens", setting: func(p *sim.Profile) { p.Unfenced = true },
		profile: "updates", kind: history.Update, budget: 10,
	},
	// Where a quarantined master does not count, counting a re-set one is
	// harmless: see docs/verification.md.
	{name: "extension that counts re-set masters", id: mutant.ResetCounts, model: model.CountReset},
	{
		name: "a quarantined master counted in an extension", id: mutant.QuarantinedCounts, model: model.CountQuarantined,
		profile: "ambushes", kind: history.Overlap, budget: 5,
	},
	{
		name: "a mixed fleet taken for new", id: mutant.MixedFleetIsNew,
		profile: "guarded", kind: history.Overlap, budget: 150,
	},
	{
		name: "no 2S in strict mode", id: mutant.NoSkewTerm,
		profile: "strict sides", kind: history.Overlap, budget: 30,
	},
	{
		name: "E not subtracted", id: mutant.NoClockError,
		profile: "strict sides", kind: history.Overlap, budget: 30,
	},
	{
		name: "clients' clocks further apart than E", setting: func(p *sim.Profile) { p.ClientOffset = p.ClockError * 9 / 10 },
		profile: "strict sides", kind: history.Overlap, budget: 30,
	},
	{
		name: "no lease record under a corrected jump", id: mutant.NoLease,
		profile: "strict jumps", kind: history.Overlap, budget: 10,
	},
	{
		name: "a joined release that is overtaken", id: mutant.JoinedOvertaken,
		profile: "flushes", kind: history.Stuck, budget: 5,
	},
	{
		name: "a joined release that is left out", id: mutant.JoinedForgets,
		profile: "flushes", kind: history.Litter, budget: 10,
	},
}
