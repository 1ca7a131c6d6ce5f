package mutants

import (
	"slices"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/proof/history"
	"github.com/redquorum/redquorum/test/proof/sim"
	"github.com/redquorum/redquorum/verification/fencing"
	"github.com/redquorum/redquorum/verification/model"
)

// A mutant is the library with one mistake.
type mutant struct {
	name    string
	breaks  string             // the rule
	edits   []edit             // edits that make the mistake
	setting func(*sim.Profile) // or a wrong setting of the simulation; may be nil
	model   model.Mutant       // the same mistake in the exhaustive model; 0: none
	fencing fencing.Mistake    // or in the model of fencing tokens
	foundBy finder             // what has to find it: a simulation or a goTest
	also    simulation         // a simulation that has to find it, too; no profile: none
}

// simulated returns the simulation that finds the mutant, if one does.
func (m *mutant) simulated() (s simulation, ok bool) {
	if s, ok := m.foundBy.(simulation); ok {
		return s, true
	}
	return m.also, m.also.profile != ""
}

// mutants lists every mistake (docs/project/verification.md says how they are used).
var mutants = slices.Concat(general, ofTheGuard, ofTheWaiting, ofReadersThatWait, ofReleases, ofListeners, ofConnections)

// general are mistakes that the simulation finds, or could find.
var general = []mutant{
	{
		name:    "quorum of half the masters",
		breaks:  "S1: any two quorums share a master",
		edits:   []edit{{"internal/quorum/quorum.go", "return n/2 + 1", "return n / 2"}},
		model:   model.QuorumHalf,
		foundBy: simulation{"edges", history.Overlap, 10},
	},
	{
		name:   "a release does not compare the token",
		breaks: "S4: a release deletes a key only if it holds our token",
		edits: []edit{
			{"internal/script/release.lua", "if held == ARGV[1] then", "if held then"},
			{"internal/script/releasebatch.lua", "if values[i] == ARGV[i] then", "if values[i] then"},
			{"internal/script/queue.lua", "if held == ARGV[3] then", "if held then"},
		},
		model:   model.NoCompare,
		foundBy: simulation{"edges", history.Overlap, 10},
	},
	{
		name:   "all attempts use one token",
		breaks: "S3: every attempt has a fresh token",
		edits: []edit{
			{"internal/hold/attempt.go", "	h.claim.Token = manager.NewToken(h.opts.Owner)\n", `	if h.claim.Token == "" {
		h.claim.Token = manager.NewToken(h.opts.Owner)
	}
`},
			{"internal/wire/claim.go", "Claim{Kind: c.Kind,", "Claim{Token: c.Token, Kind: c.Kind,"},
		},
		model:   model.OneToken,
		foundBy: simulation{"echoes", history.Overlap, 10},
	},
	{
		name:   "validity counts from the decision",
		breaks: "S2: validity counts from before the first byte is sent",
		edits: []edit{{"internal/hold/attempt.go", "	h.claim.Absent = res.Absent\n", `	h.life.start = now
	h.claim.Absent = res.Absent
`}},
		model:   model.NoElapsed,
		foundBy: simulation{"edges", history.Overlap, 10},
	},
	{
		name:    "validity without the drift allowance",
		breaks:  "S2: the drift allowance shortens the validity",
		setting: func(p *sim.Profile) { p.NoDrift = true },
		model:   model.NoDrift,
		foundBy: simulation{"drift", history.Overlap, 15},
	},
	{
		name:    "guard off, so a restarted master votes at once",
		breaks:  "S1: a master that has lost its data does not vote until its locks have expired",
		setting: func(p *sim.Profile) { p.Guard = redlock.GuardOff },
		model:   model.NoQuarantine,
		foundBy: simulation{"guarded", history.Overlap, 20},
	},
	{
		name:    "no rollback once the caller's context has ended",
		breaks:  "L2: a failed attempt is rolled back, even if its caller has given up",
		edits:   []edit{{"internal/hold/attempt.go", "	} else {\n		h.rollback()\n", "	} else if ctx.Err() == nil {\n		h.rollback()\n"}},
		foundBy: simulation{"litter", history.Litter, 5},
	},
	{
		name:   "an unanswered extension postpones the loss",
		breaks: "S7: an extension without an answer does not postpone the loss",
		edits: []edit{{"internal/hold/extend.go", "	start := h.manager.now()\n	x :=", `	start := h.manager.now()
	h.life.start = start
	x :=`}},
		model:   model.TimerMoved,
		foundBy: simulation{"partitions", history.Overlap, 20},
	},
	{
		name:    "an extension shortens a key's TTL",
		breaks:  "S6: an extension never shortens a key's TTL",
		edits:   []edit{{"internal/script/extend.lua", "math.max(redis.call('PTTL', KEYS[1]), ARGV[2])", "ARGV[2]"}},
		model:   model.Shortens,
		foundBy: goTest{"./redlock", "TestAnExtensionNeverShortensWhatAMasterKeeps"},
	},
	{
		name:   "a late reply counts in the next attempt",
		breaks: "L4: a late reply never counts in another attempt",
		edits: []edit{
			addFile("internal/ballot/latereply.go", "late_reply.go"),
			{"internal/ballot/send.go", "	b.cfg.InFlight.Add()\n", "	b.cfg.InFlight.Add()\n	b.noteLatest()\n"},
			{"internal/ballot/round.go", "	abstains := b.abstains(c)\n", "	b.countInNext(c)\n	abstains := b.abstains(c)\n"},
		},
		model:   model.LateVote,
		foundBy: simulation{"edges", history.Overlap, 10},
	},
	{
		name:    "commands are resent after their hold has ended",
		breaks:  "S5: no command for a lock follows its release",
		edits:   []edit{{"internal/hold/hold.go", "h.life.state > held {\n\t\treturn false", "false {\n\t\treturn false"}},
		foundBy: goTest{"./internal/hold", "TestAQuestionIsAskedAgainOnlyWhileItsHoldLives"},
	},
	{
		name:    "no round to raise fences",
		breaks:  "S8: a fencing token is stored at a quorum",
		edits:   []edit{{"internal/hold/fence.go", "	if token == 0 {", "	if true {"}},
		fencing: fencing.NoRaise,
		foundBy: simulation{"raises", history.Fence, 100},
	},
	{
		name:   "no round to raise fences for a reader",
		breaks: "S8: a fencing token that a reader gets is stored at a quorum",
		edits: []edit{{
			"internal/hold/fence.go", "	if stored.Len() >= h.manager.cfg.Need {",
			"	if stored.Len() >= h.manager.cfg.Need || h.claim.Kind == wire.Reader {",
		}},
		foundBy: simulation{"readers' raises", history.Fence, 30},
	},
	// The simulation has not found it in 60 seeds.
	{
		name:    "a raise compares the owner but not the fence",
		breaks:  "S8: a fence is raised only if it still has the token that it gave",
		edits:   []edit{{"internal/script/raise.lua", "if value ~= (i <= n and ARGV[1] or ARGV[2]) then", "if i <= n and value ~= ARGV[1] then"}},
		fencing: fencing.RaiseIfOwner,
		foundBy: goTest{"./internal/script", "TestARaiseComparesTheFenceAndNotTheOwnerAlone"},
	},
	{
		name:    "the resource does not compare fencing tokens",
		breaks:  "a resource rejects the fencing tokens of former holders",
		setting: func(p *sim.Profile) { p.Unfenced = true },
		foundBy: simulation{"updates", history.Update, 10},
	},
	// Histories do not show this: while quarantined masters do not count, counting a re-set
	// master is harmless (docs/project/verification.md).
	{
		name:    "an extension counts masters on which it set the key again",
		breaks:  "S6: an extension counts only masters that still held the key",
		edits:   []edit{{"internal/wire/answer.go", "	case code == any(int64(1)):\n", "	case code == any(int64(1)), a.op == OpExtend && code == any(int64(2)):\n"}},
		model:   model.CountReset,
		foundBy: goTest{"./redlock", "TestForgetfulMasterCountsFromTheNextExtensionOn"},
	},
	{
		name:   "a quarantined master counts in an extension",
		breaks: "S1: a quarantined master has no vote, not even on an extension",
		edits: []edit{
			{"internal/wire/op.go", "ballot.Rules{Votes:", "ballot.Rules{Extends: op == OpExtend, Votes:"},
			{"internal/ballot/round.go", "type Rules struct {\n", "type Rules struct {\n	Extends bool // it is an extension\n"},
			{"internal/ballot/round.go", "	return b.cfg.Voters.Abstains(c.Slot, c, b.Start, b.Rules.Needs)\n", `	why := b.cfg.Voters.Abstains(c.Slot, c, b.Start, b.Rules.Needs)
	if b.Rules.Extends && why != nil && why.Cause == guard.Quarantined {
		return nil
	}
	return why
`},
		},
		model:   model.CountQuarantined,
		foundBy: simulation{"ambushes", history.Overlap, 5},
	},
	{
		name:    "a fleet is declared new although some masters have markers",
		breaks:  "S1: a fleet is new only if all its masters are empty at one instant",
		edits:   []edit{{"internal/guard/fleet.go", "Step: ToAdopt,", "Step: ToDeclare,"}},
		foundBy: goTest{"./internal/guard", "TestAFleetIsDeclaredOnlyWhenAllNAreEmpty"},
	},
	{
		name:    "strict validity without the skew of masters' clocks",
		breaks:  "S1 in strict: the allowed skew of masters' clocks shortens the validity",
		edits:   []edit{{"redlock/strict.go", "v -= guard.Skew(ttl) + guard.Skew(o.maxTTL) + o.clockErr", "v -= o.clockErr"}},
		foundBy: simulation{"strict sides", history.Overlap, 30},
	},
	{
		name:    "strict validity uses only the skew for the lock's own TTL",
		breaks:  "S1 in strict: the validity allows for the skew of the next client, whose TTL may be longer",
		edits:   []edit{{"redlock/strict.go", "v -= guard.Skew(ttl) + guard.Skew(o.maxTTL) + o.clockErr", "v -= 2*guard.Skew(ttl) + o.clockErr"}},
		foundBy: simulation{"strict mixed", history.Overlap, 60},
	},
	{
		name:    "strict validity without the error of clients' clocks",
		breaks:  "S1 in strict: the allowed error of clients' clocks shortens the validity",
		edits:   []edit{{"redlock/strict.go", "v -= guard.Skew(ttl) + guard.Skew(o.maxTTL) + o.clockErr", "v -= guard.Skew(ttl) + guard.Skew(o.maxTTL)"}},
		foundBy: simulation{"strict sides", history.Overlap, 30},
	},
	{
		name:    "clients' clocks differ by more than WithClockError",
		breaks:  "S1 in strict: clients' clocks differ by no more than WithClockError",
		setting: func(p *sim.Profile) { p.ClientOffset = p.ClockError * 9 / 10 },
		foundBy: simulation{"strict sides", history.Overlap, 30},
	},
	{
		name:    "grants ignore lease records",
		breaks:  "S1 in strict: a lease keeps others out even if a clock jump has deleted the key",
		edits:   []edit{{"internal/script/guarded.lua", "local taken = any_leased(leases, false, from)", "local taken = nil"}},
		foundBy: simulation{"strict jumps", history.Overlap, 10},
	},
	{
		name:    "renewals are planned by the TTL, not by the validity",
		breaks:  "progress: a lock with a validity below half of its TTL is not renewed without a pause",
		edits:   []edit{{"internal/hold/renew.go", "	validity := h.life.validity\n", "	validity := h.claim.TTL\n"}},
		foundBy: goTest{"./redlock", "TestARenewalFollowsTheValidityWhereThatIsAShortPartOfTheTTL"},
	},
	{
		name:    "a renewal waits only for the command time-out",
		breaks:  "S6: late answers do not lose a held lock",
		edits:   []edit{{"internal/hold/renew.go", "max(h.manager.AnswerTimeout(h.claim.TTL), left/4)", "h.manager.Timeout(h.claim.TTL)"}},
		also:    simulation{"late", history.Needless, 10},
		foundBy: goTest{"./redlock", "TestLateAnswersLoseNoLock"},
	},
	{
		name:   "the first write of an extension needs memory",
		breaks: "S6: a held lock stays held on a master whose memory is full",
		edits: []edit{
			{"internal/script/guarded_extend.lua", "local code = plain(", "keep(fences, values, stored)\nnote(leases, reading)\nlocal code = plain("},
			{"internal/script/guarded.lua", "    if values[i] > stored[i] then\n", "    if values[i] >= stored[i] then\n"},
		},
		foundBy: goTest{"./internal/script", "TestAnExtensionIsNotRefusedForWantOfMemory"},
	},
	{
		name:    "an extension sends PEXPIRE only if it changes the TTL",
		breaks:  "S6: a held lock stays held on a master whose memory is full",
		edits:   []edit{{"internal/script/extend.lua", "  redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), ARGV[2]))", "  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end"}},
		foundBy: goTest{"./internal/script", "TestAnExtensionIsNotRefusedForWantOfMemory"},
	},
	{
		name:   "the fence of one key raises the tokens of other keys",
		breaks: "T2: a clock that was ahead raises only the tokens of keys that were locked then",
		edits: []edit{
			{"internal/wire/scripted.go", "		f.fence = found.fence\n", "		f.fence = found.fence\n		carried.Store(max(carried.Load(), found.fence))\n"},
			{"internal/wire/fence.go", "	return uint64(max(w.cfg.Ballots.Clock.Now().Wall().UnixMicro(), 1))", "	return max(uint64(max(w.cfg.Ballots.Clock.Now().Wall().UnixMicro(), 1)), carried.Load()+1)"},
			{"internal/wire/fence.go", "// Fences counts", "var carried atomic.Uint64\n\n// Fences counts"},
		},
		foundBy: goTest{"./redlock", "TestAFenceAheadOfTheClocksDoesNotAffectOtherKeys"},
	},
	{
		name:    "a batched release is overtaken by a later command for its key",
		breaks:  "S5: commands for one key stay in order",
		edits:   []edit{{"internal/pipeline/batch.go", "	word, bit := slotOf(key)\n	for _, g := range groups {", "	word, bit := slotOf(key)\n	for _, g := range groups[:0] {"}},
		foundBy: goTest{"./internal/pipeline", "TestJoiningKeepsTheOrderOfEachKey"},
	},
	{
		name:   "the last release of a batch is left out",
		breaks: "L4: every release reaches the masters",
		edits: []edit{{"internal/pipeline/batch.go", `		for _, call := range c.calls {
			b = append(b, call.piece(call.Batch.Keys[k])...)
`, `		for i, call := range c.calls {
			if k == 0 && i == len(c.calls)-1 {
				call = c.calls[0]
			}
			b = append(b, call.piece(call.Batch.Keys[k])...)
`}},
		foundBy: simulation{"flushes", history.Litter, 10},
	},
}
