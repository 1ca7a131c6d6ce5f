package mutants

import (
	"github.com/redquorum/redquorum/test/proof/history"
	"github.com/redquorum/redquorum/test/proof/sim"
	"github.com/redquorum/redquorum/verification/moving"
)

// ofMoving are mistakes about moves between fleets. Waiting while holding, and fleets in
// any order, are found by the model where both are made.
var ofMoving = []mutant{
	{
		name:    "a fleet closed unnoticed",
		breaks:  "moving: what closes a fleet changes what the check behind each flush compares",
		edits:   []edit{{"internal/guard/fleet.lua", ", since = string.format('%.0f', m.since + 1)})", "})"}},
		moving:  moving.CountClosed,
		foundBy: goTest{"./internal/guard", "TestAMarkerIsClosedWhereItIsTheOneThatWasSeen"},
		also:    simulation{"moves", history.Closed, 40},
	},
	{
		name:    "a master of a closed fleet that speaks for itself alone",
		breaks:  "moving: one master that is closed takes the vote from all, for clients that take no part",
		edits:   []edit{{"internal/guard/moved.go", "case s.Vote, s.Why.Cause == Quarantined,", `case s.Vote && facts[i].MovedTo != "", s.Why != nil && s.Why.Cause == Quarantined,`}, {"internal/guard/moved.go", "s.Why.Cause == NoMarker, s.Why.Cause == Changed", "s.Why != nil && s.Why.Cause == NoMarker, s.Why != nil && s.Why.Cause == Changed"}},
		moving:  moving.HearsNothing,
		foundBy: goTest{"./internal/guard", "TestOneMasterThatIsClosedTakesTheVoteFromAll"},
	},
	{
		name:    "a stranger who adopts in a closed fleet",
		breaks:  "moving: a client that takes no part adopts no master of a closed fleet",
		edits:   []edit{{"internal/guard/fleet.go", "if c.movedTo(facts) != \"\" {", "if false {"}},
		foundBy: goTest{"./internal/guard", "TestPlanOfAFleetThatIsBeingMoved"},
	},
	{
		name:    "a fleet closed without a wait",
		breaks:  "moving: phase three begins when a quarantine has passed since a quorum could last be had",
		edits:   []edit{{"internal/guard/moved.go", "max(0, c.Quarantine()-since[least-1])", "max(0, c.Quarantine()-since[0])"}},
		moving:  moving.WaitFromFirst,
		foundBy: goTest{"./internal/guard", "TestClosingIsDoneWhenTheOpenMastersAreNoQuorumAndAQuarantineHasPassed"},
	},
	{
		name:    "a fleet closed by too few",
		breaks:  "moving: the masters that are not closed are no quorum",
		edits:   []edit{{"internal/guard/moved.go", "least := c.Masters - c.need() + 1", "least := c.Masters - c.need()"}},
		moving:  moving.TooFewClosed,
		foundBy: goTest{"./internal/guard", "TestClosingIsDoneWhenTheOpenMastersAreNoQuorumAndAQuarantineHasPassed"},
	},
	{
		name:    "fleets in the order of the caller",
		breaks:  "moving: everybody takes fleets in one order, by their ids",
		edits:   []edit{{"redlock/fleets/moving.go", "return a.fleet.compare(b.fleet)", "return 0"}},
		moving:  moving.AnyOrder,
		foundBy: goTest{"./redlock/fleets", "TestFleetsAreTakenInTheOrderOfTheirIDs"},
	},
	{
		name:    "who waits for one fleet holds another",
		breaks:  "moving: nobody waits for one fleet while holding another",
		edits:   []edit{{"redlock/fleets/acquire.go", "once || i != waitFor, opts)", "once, opts)"}},
		moving:  moving.WaitsHolding,
		foundBy: goTest{"./redlock/fleets", "TestNobodyWaitsForOneFleetWhileHoldingTheOther"},
	},
	{
		name:    "a context of one fleet",
		breaks:  "moving: loss in either fleet ends the hold",
		edits:   []edit{{"redlock/fleets/context.go", "for i, l := range h.held {", "for i, l := range h.held[:1] {"}, {"redlock/fleets/context.go", "for i, l := range c.hold.held {", "for i, l := range c.hold.held[:1] {"}},
		moving:  moving.OneContext,
		foundBy: goTest{"./redlock/fleets", "TestLossInOneFleetIsLossAndGivesTheOtherBack"},
	},
	{
		name:    "tokens of each fleet for itself",
		breaks:  "moving: the token of a hold is above all earlier ones of both fleets, and all later ones of both are above it",
		edits:   []edit{{"redlock/fleets/acquire.go", "if l.Fence() != token {", "if false {"}},
		foundBy: goTest{"./redlock/fleets", "TestFencingTokensRiseThroughAllPhases"},
	},
	{
		name:    "a fleet left behind by a loss in the other",
		breaks:  "moving: loss in one fleet gives the other back",
		edits:   []edit{{"redlock/fleets/compound.go", "if other != i {", "if false {"}},
		foundBy: goTest{"./redlock/fleets", "TestLossInOneFleetIsLossAndGivesTheOtherBack"},
	},
	{
		name:    "a fleet that is not closed",
		breaks:  "moving: phase three begins when the old fleet is closed",
		setting: func(p *sim.Profile) { p.Unclosed = true },
		moving:  moving.NotClosed,
		foundBy: simulation{"moves", history.Overlap, 10},
	},
	{
		name:    "phase three when the fleet is closed",
		breaks:  "moving: locks of before run out first",
		setting: func(p *sim.Profile) { p.Hasty = true },
		moving:  moving.NoWait,
		foundBy: simulation{"moves with leases", history.Overlap, 30},
	},
	{
		name:    "a client that takes part in every move",
		breaks:  "moving: a closed fleet votes for those alone that name the move",
		edits:   []edit{{"internal/guard/moved.go", `return slices.Contains(strings.Split(c.Moves, "\n"), name)`, `return c.Masters > 0 || slices.Contains(strings.Split(c.Moves, "\n"), name)`}},
		moving:  moving.CountClosed,
		foundBy: simulation{"moves", history.Closed, 10},
	},
	{
		name:    "phase two in one fleet",
		breaks:  "moving: in phase two every lock is taken in both fleets",
		edits:   []edit{{"redlock/fleets/moving.go", `return inOrder(m.from.plan(keys, joinPath(path, "from")), m.to`, `return inOrder(nil, m.to`}},
		moving:  moving.OneFleet,
		foundBy: simulation{"moves", history.Overlap, 10},
	},
	{
		name:    "an attempt that keeps what it has of one fleet",
		breaks:  "moving: what was taken is given back where another fleet fails",
		edits:   []edit{{"redlock/fleets/acquire.go", "		giveBack(ctx, held, order)\n		return nil, at, err", "		giveBack(ctx, held, order[:0])\n		return nil, at, err"}},
		foundBy: simulation{"moves with litter", history.Litter, 5},
	},
	{
		name:    "a closed fleet that is closed for another move",
		breaks:  "moving: a fleet moves to one place at a time",
		edits:   []edit{{"internal/voters/moved.go", "elsewhere != \"\" && !force {", "elsewhere != \"\" && false {"}, {"internal/guard/fleet.lua", " or m.to ~= '' and ARGV[15] ~= '1' then", " then"}},
		foundBy: goTest{"./redlock/fleets", "TestAFleetThatIsBeingMovedIsNotClosedForAnotherMove"},
	},
	{
		name:    "a try that the closing of the fleet fails",
		breaks:  "moving: who takes part goes on while the fleet is closed",
		edits:   []edit{{"internal/hold/acquisition.go", "if failed != nil && n.meetsMove(", "if failed != nil && false && n.meetsMove("}},
		foundBy: goTest{"./redlock/fleets", "TestNoTryFailsWhileTheFleetIsClosed"},
	},
	{
		name:    "an extension that the closing of the fleet fails",
		breaks:  "moving: who takes part goes on while the fleet is closed",
		edits:   []edit{{"internal/hold/extend.go", "|| p.Failure == nil || !n.meetsMove(", "|| p.Failure == nil || true || !n.meetsMove("}},
		foundBy: goTest{"./redlock/fleets", "TestNoExtensionFailsWhileTheFleetIsClosed"},
	},
	{
		name:    "a closing that is done beside another",
		breaks:  "moving: a closing is done only if all masters that answer name it",
		edits:   []edit{{"internal/guard/moved.go", "			r.Elsewhere = f.Marker.To\n", ""}},
		foundBy: goTest{"./internal/guard", "TestAClosingIsNotDoneWhereAMasterNamesAnotherMove"},
	},
	{
		name:    "a closing by force that is written over unseen",
		breaks:  "moving: a closing is done only if all masters that answer name it",
		edits:   []edit{{"internal/voters/moved.go", "	if force {\n", "	if force && false {\n"}},
		foundBy: goTest{"./redlock/fleets", "TestAClosingThatMeetsAnotherIsDoneOnlyIfAllMastersNameIt"},
	},
	{
		name:    "a fleet closed for one that is being moved itself",
		breaks:  "moving: two fleets are not moved to each other",
		edits:   []edit{{"redlock/fleet.go", "	case to != \"\":\n", "	case to != \"\" && false:\n"}},
		foundBy: goTest{"./redlock/fleets", "TestAFleetIsNotClosedForOneThatIsBeingMovedItself"},
	},
}
