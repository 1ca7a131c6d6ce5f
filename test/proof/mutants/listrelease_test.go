package mutants

import "github.com/redquorum/redquorum/test/proof/history"

// ofReleases are mistakes about how holds end and are passed on: releases, and adoptions.
var ofReleases = []mutant{
	{
		name:    "a release whose answers were lost, and that finds the lock lost when it is sent again",
		breaks:  "a lock that was held to its end is not lost",
		edits:   []edit{{"internal/wire/ask.go", "a.op == OpRelease && c.Again &&", "false &&"}},
		foundBy: goTest{"./redlock", "TestAReleaseWhoseAnswersAreLostWithTheirConnectionsIsNoLoss"},
	},
	{
		name:    "a release that is answered at once, and finds no loss",
		breaks:  "a lock that was lost is told",
		edits:   []edit{{"internal/wire/ask.go", "a.op == OpRelease && c.Again &&", "a.op == OpRelease &&"}},
		foundBy: goTest{"./redlock", "TestAReleaseThatIsAnsweredTellsThatTheLockWasLost"},
	},
	{
		name:    "a call that does not know that it was written before",
		breaks:  "a lock that was held to its end is not lost",
		edits:   []edit{{"internal/pipeline/session.go", "c.Again, c.Sent, c.Epoch, c.sentAt = c.Sent, true, s.epoch, 0", "c.Sent, c.Epoch, c.sentAt = true, s.epoch, 0"}},
		foundBy: goTest{"./internal/pipeline", "TestKeptCallsWaitForAMasterThatIsDown"},
	},
	{
		name:    "an end that releases what another holds by its token",
		breaks:  "a lock that was handed on by its token stays until its own end",
		edits:   []edit{{"internal/hold/release.go", "if !h.opts.UnlockOnly {", "if true {"}},
		foundBy: goTest{"./redlock", "TestNothingButUnlockReleasesALockWithUnlockOnly"},
	},
	{
		name:    "an unlock that its own end interrupts",
		breaks:  "an outage is told only where there is one",
		edits:   []edit{{"redlock/lock.go", "waiting, stop := l.untilUnlocked(ctx)", "waiting, stop := ctx, func() {}"}},
		foundBy: goTest{"./redlock", "TestUnlockUnderAContextThatItEndsIsConfirmed"},
	},
	{
		name:    "an attempt that waits for longer than its lock would be valid",
		breaks:  "S2: what took as long as its TTL is no acquisition, and nobody waits for that",
		edits:   []edit{{"internal/hold/manager.go", "return min(d, manager.cfg.Validity(ttl))", "return d"}},
		foundBy: goTest{"./redlock", "TestThreeFrozenMastersAreNoQuorumWithinTheTimeout"},
	},
	{
		name:    "an extended lock that is not released where it did not come in at first",
		breaks:  "L2: no release leaves a key",
		edits:   []edit{{"internal/hold/extend.go", "h.extended, h.claim.Absent = true, 0", "h.extended = true"}},
		foundBy: goTest{"./redlock", "TestForgetfulMasterCountsFromTheNextExtensionOn"},
	},
	{
		name:    "an extension that prolongs nothing",
		breaks:  "S6: an extension gives every master the whole TTL",
		edits:   []edit{{"internal/script/extend.lua", "math.max(redis.call('PTTL', KEYS[1]), ARGV[2])", "redis.call('PTTL', KEYS[1])"}},
		foundBy: goTest{"./redlock", "TestEverySortIsRenewedVerifiedAndExtendedAndALeaseEndsBeforeItsKeys"},
	},
	{
		name:    "a release that is lost with its connection",
		breaks:  "L2: what is released is released where the connection broke, too",
		edits:   []edit{{"internal/pipeline/supervise.go", "!c.mayRetry(now):", "c.mayRetry(now) || true:"}},
		foundBy: goTest{"./internal/pipeline", "TestKeptCallsSurviveAReconnectInOrderAndAheadOfNewerOnes"},
	},
	{
		name:   "a master without the key that tells a release nothing",
		breaks: "who unlocks what a majority does not have is told of a loss, not of an outage",
		edits: []edit{{"internal/ballot/send.go", `{Verdict: Refused}
			b.tally.Refused++`, `{Verdict: Failed}
			b.tally.Failed++`}},
		foundBy: goTest{"./internal/ballot", "TestMastersWhoseAnswerIsKnownAreNotAsked"},
	},
	{
		name:    "an adoption that does not look which token stands",
		breaks:  "S1: of several that adopt one token at most one holds",
		edits:   []edit{{"internal/script/guarded.lua", "  if held ~= from then return", "  if from and not held then return"}},
		also:    simulation{"adoptions", history.Overlap, 20},
		foundBy: goTest{"./redlock", "TestAdoptTakesOverWhatAnotherClientHandedOn"},
	},
	{
		name:    "an adoption that keeps the token",
		breaks:  "S3: every attempt has a token of its own",
		edits:   []edit{{"internal/hold/adopt.go", "	a := n.begin(ctx, time.Now().Add(n.hold.manager.Timeout(n.hold.claim.TTL)))\n", "	a := n.begin(ctx, time.Now().Add(n.hold.manager.Timeout(n.hold.claim.TTL)))\n	n.hold.claim.Token = token\n"}},
		foundBy: goTest{"./redlock", "TestAdoptTakesOverWhatAnotherClientHandedOn"},
	},
	{
		name:    "an adopted lock that leaves the old token where it did not come in",
		breaks:  "L2: no release leaves a key",
		edits:   []edit{{"internal/hold/release.go", "	h.releaseReplaced()\n	return ", "	return "}},
		foundBy: goTest{"./redlock", "TestReleaseOfAnAdoptedLockRemovesTheOldTokenEverywhere"},
	},
	{
		name:    "an adopted lock that is handed on and leaves the token before it where it did not come in",
		breaks:  "L2: no release leaves a key",
		edits:   []edit{{"internal/hold/release.go", "	h.releaseReplaced()\n	end := ", "	end := "}},
		foundBy: goTest{"./redlock", "TestCloseAndHandOverOfAnAdoptedLockRemoveTheOldToken"},
	},
	{
		name:    "an adoption that has failed and releases the old token",
		breaks:  "who cannot adopt a lock does not release it",
		edits:   []edit{{"internal/hold/release.go", " || h.life.validity == 0 {", " {"}},
		foundBy: goTest{"./redlock", "TestAdoptVerifiesAtAQuorum"},
	},
	{
		name:    "an adoption that leaves the old lease",
		breaks:  "what is adopted is released with the token that replaced the old one",
		edits:   []edit{{"internal/script/guarded.lua", "    if from then redis.call('ZREM', lease, from) end\n", ""}},
		foundBy: goTest{"./internal/script", "TestAnAdoptionReplacesTheTokenWhereItStands"},
	},
	{
		name:    "a release right after a loss by time",
		breaks:  "S7: the drift allowance lies between a holder's being told and somebody else's grant",
		edits:   []edit{{"internal/hold/life.go", "		h.manager.renewer.postpone(h)\n", "		h.sendRelease(true)\n		h.manager.renewer.remove(h)\n"}},
		foundBy: goTest{"./redlock", "TestAKeyOutlivesTheLossByTimeUntilItsTTLIsOver"},
	},
	{
		name:    "a hand-over beside a renewal that is late",
		breaks:  "S1: a token that was handed over is not set again",
		edits:   []edit{{"internal/hold/release.go", "	h.setting.Wait(left)\n", "	h.setting.Wait(min(left, h.manager.Timeout(h.claim.TTL)))\n"}},
		foundBy: goTest{"./redlock", "TestHandOverWaitsForWhatIsUnderWay"},
	},
	{
		name:    "a Close that drops what masters that are busy have not read",
		breaks:  "progress: Close gives back what is held",
		edits:   []edit{{"redlock/client.go", "c.awaitAnswers(limit)", "c.group.InFlight.Wait(limit)"}},
		foundBy: goTest{"./redlock", "TestCloseWaitsForMastersThatGoOnAnswering"},
	},
	{
		name:    "a grant that stays behind where its listener panics",
		breaks:  "L2: an attempt that fails is rolled back",
		edits:   []edit{{"internal/hold/attempt.go", "	defer func() {\n		if !settled {\n			h.rollback()\n		}\n	}()\n	h.owner.Answered(h.owner.Context(), ask)\n", "	h.owner.Answered(h.owner.Context(), ask)\n	defer func() {\n		if !settled {\n			h.rollback()\n		}\n	}()\n"}},
		foundBy: goTest{"./redlock", "TestAnAttemptWhoseTracePanicsIsRolledBack"},
	},
	{
		name:    "an extension that is decided before all have said that the key is gone",
		breaks:  "S6: what an extension has set again does not count as held",
		edits:   []edit{{"internal/wire/op.go", "		r.Gone = true\n", ""}},
		foundBy: goTest{"./redlock", "TestALockThatIsGoneWhereverMastersAnswerIsLostAtItsNextRenewal"},
	},
	{
		name:    "a further handle that stays where a trace panics",
		breaks:  "progress: the Unlock of the last handle releases",
		edits:   []edit{{"redlock/reentrant.go", "		if leaves != nil { // a trace has panicked\n", "		if false {\n"}},
		foundBy: goTest{"./redlock", "TestAReentrantCallWhoseTracePanicsLeavesNoHandle"},
	},
	{
		name:   "a late release by a TTL that was never confirmed",
		breaks: "progress: what was lost is free when its TTL is over",
		edits: []edit{
			{"internal/hold/renew.go", "now + h.life.unexpired(instant)", "now + max(0, h.claim.TTL-instant.Sub(h.life.start))"},
			{"internal/hold/renew.go", "h.life.unexpired(instant) == 0", "h.claim.TTL <= instant.Sub(h.life.start)"},
		},
		foundBy: goTest{"./redlock", "TestAKeyIsReleasedByTheTTLThatWasConfirmedLast"},
	},
	{
		name:    "a refused release that is dropped",
		breaks:  "progress: what was unlocked is free a moment after the masters write again",
		edits:   []edit{{"internal/ballot/round.go", "	return b.cfg.Masters[c.Slot].RetryLater(c)\n", "	return false\n"}},
		also:    simulation{"refused", history.Litter, 5},
		foundBy: goTest{"./internal/ballot", "TestARefusedCallThatPersistsIsSentAgain"},
	},
	{
		name:    "a pause by the wall clock",
		breaks:  "progress: a clock that is set back delays no refused release",
		edits:   []edit{{"internal/pipeline/postponed.go", "return t.Add(postponedGrid - time.Duration(t.UnixNano())%postponedGrid)", "return t.Truncate(postponedGrid).Add(postponedGrid)"}},
		foundBy: goTest{"./internal/pipeline", "TestPausesDoNotDependOnTheWallClock"},
	},
	{
		name:    "a refused acquisition that is released",
		breaks:  "progress: masters that refuse to write fill no queue",
		edits:   []edit{{"internal/pipeline/errors.go", "	return slices.ContainsFunc(refusesToWrite,", "	return reply == \"\" && slices.ContainsFunc(refusesToWrite,"}},
		foundBy: goTest{"./internal/wire", "TestAMasterThatRefusesToWriteHasNothingToRelease"},
	},
	{
		name:    "a call that nobody needs any more, and that is sent",
		breaks:  "S5: what was abandoned is not sent on the next connection",
		edits:   []edit{{"internal/pipeline/session.go", "c.Owner.Abandoned(c) || c.Sent", "c.Sent"}},
		foundBy: goTest{"./internal/pipeline", "TestAKeptCallThatIsAbandonedMeanwhileIsNotSentAgain"},
	},
	{
		name:    "a release that is kept for longer than its key lives",
		breaks:  "a master that stays down gathers no releases without end",
		edits:   []edit{{"internal/pipeline/supervise.go", "!c.mayRetry(now):", "!c.mayRetry(now.Add(-time.Hour)):"}},
		foundBy: goTest{"./internal/pipeline", "TestKeptCallsFailOnceTheirTimeIsOverWhileTheMasterIsDown"},
	},
	{
		name:    "refused releases that are sent again without a longer pause",
		breaks:  "progress: masters that refuse to write are not loaded with releases",
		edits:   []edit{{"internal/pipeline/postponed.go", "leastPostponed<<c.refusals", "leastPostponed"}},
		foundBy: goTest{"./internal/pipeline", "TestARefusedCallIsSentAgainAfterPausesThatDouble"},
	},
	{
		name:    "a refused release that waits beyond its time",
		breaks:  "progress: a release that is refused ends in time",
		edits:   []edit{{"internal/pipeline/postponed.go", "	if !c.mayRetry(due) {", "	if !c.mayRetry(time.Now()) {"}},
		foundBy: goTest{"./internal/pipeline", "TestARefusedCallIsGivenUpWhenItIsNotKeptAnyLonger"},
	},
	{
		name:    "refused releases that fill the queue",
		breaks:  "progress: masters that refuse to write fill no queue",
		edits:   []edit{{"internal/pipeline/postponed.go", " || len(p.postponed.calls) >= p.cfg.QueueLimit/2", ""}},
		foundBy: goTest{"./internal/pipeline", "TestPostponedCallsTakeHalfOfTheQueueAtMost"},
	},
	{
		name:    "refused releases that Close forgets",
		breaks:  "each call is completed once, and by Close at the latest",
		edits:   []edit{{"internal/pipeline/postponed.go", "	over := p.postponed.calls\n	p.postponed.calls = nil\n", "	var over []pausing\n	p.postponed.calls = nil\n"}},
		foundBy: goTest{"./internal/pipeline", "TestPostponedCallsEndWithThePipeline"},
	},
	{
		name:    "an earlier extension that shortens the hold",
		breaks:  "S6: an extension never shortens a hold",
		edits:   []edit{{"internal/hold/extend.go", "case validity-took > h.life.remaining(now):", "case true:"}},
		foundBy: goTest{"./internal/hold", "TestAnExtensionThatBeganEarlierShortensNoHold"},
	},
	{
		name:    "a hold that is over and is joined",
		breaks:  "S7: a hold that is over is held by nobody",
		edits:   []edit{{"internal/hold/handle.go", "	case in.unusable() != nil:\n		return false, Over\n	case h.claim.Kind", "	case h.claim.Kind"}},
		foundBy: goTest{"./internal/hold", "TestTheLastHandleReleases"},
	},
	{
		name:    "one renewal more than the bound",
		breaks:  "a bounded hold is not renewed beyond its bound",
		edits:   []edit{{"internal/hold/renew.go", "h.renewal.count >= o.MaxCount", "h.renewal.count > o.MaxCount"}},
		foundBy: goTest{"./internal/hold", "TestNoRenewalIsPlannedBeyondItsBounds"},
	},
	{
		name:    "joined releases that take the token of the first",
		breaks:  "S4: each lease is cleared by its own token",
		edits:   []edit{{"internal/script/releaseleases.lua", "KEYS[#KEYS], ARGV[i])", "KEYS[#KEYS], ARGV[1])"}},
		foundBy: goTest{"./internal/script", "TestJoinedReleasesClearTheirLeases"},
	},
	{
		name:    "a release that waits for a master that is lost",
		breaks:  "L1: a question is decided as early as the answers allow",
		edits:   []edit{{"internal/ballot/round.go", "		b.tally.Failed++\n		b.decide()\n	}\n	if b.Notify.Has(c.Slot)", "		b.tally.Failed++\n	}\n	if b.Notify.Has(c.Slot)"}},
		foundBy: goTest{"./internal/ballot", "TestTheLossOfAMasterDecidesAlthoughItsCallIsKept"},
	},
	{
		name:    "a timer that decides the next question",
		breaks:  "L4: nothing of one question is there in the next",
		edits:   []edit{{"internal/ballot/wait.go", "		<-b.ticked // it", "		// it"}},
		foundBy: goTest{"./internal/ballot", "TestADeadlineEndsOneUseOnly"},
	},
}
