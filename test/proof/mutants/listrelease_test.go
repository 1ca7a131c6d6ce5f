package mutants

import "github.com/redquorum/redquorum/test/proof/history"

// ofReleases are mistakes about how holds end and are passed on: releases, and adoptions.
var ofReleases = []mutant{
	{
		name:    "a resent release that finds no key reports a loss",
		breaks:  "a lock that was held until its release is not reported as lost",
		edits:   []edit{{"internal/wire/ask.go", "a.op == OpRelease && c.Again &&", "false &&"}},
		foundBy: goTest{"./redlock", "TestAReleaseWhoseAnswersAreLostWithTheirConnectionsIsNoLoss"},
	},
	{
		name:    "a release that finds no key always counts as a success",
		breaks:  "a release reports that the lock was lost",
		edits:   []edit{{"internal/wire/ask.go", "a.op == OpRelease && c.Again &&", "a.op == OpRelease &&"}},
		foundBy: goTest{"./redlock", "TestAReleaseThatIsAnsweredTellsThatTheLockWasLost"},
	},
	{
		name:    "a resent call is not marked as resent",
		breaks:  "a lock that was held until its release is not reported as lost",
		edits:   []edit{{"internal/pipeline/session.go", "c.Again, c.Sent, c.Epoch, c.sentAt = c.Sent, true, s.epoch, 0", "c.Sent, c.Epoch, c.sentAt = true, s.epoch, 0"}},
		foundBy: goTest{"./internal/pipeline", "TestKeptCallsWaitForAMasterThatIsDown"},
	},
	{
		name:    "a hold with UnlockOnly is released without Unlock",
		breaks:  "with UnlockOnly nothing but Unlock releases a lock",
		edits:   []edit{{"internal/hold/release.go", "if !h.opts.UnlockOnly {", "if true {"}},
		foundBy: goTest{"./redlock", "TestNothingButUnlockReleasesALockWithUnlockOnly"},
	},
	{
		name:    "Unlock is interrupted by a context that it ends itself",
		breaks:  "Unlock reports an outage only if there is one",
		edits:   []edit{{"redlock/lock.go", "waiting, stop := l.untilUnlocked(ctx)", "waiting, stop := ctx, func() {}"}},
		foundBy: goTest{"./redlock", "TestUnlockUnderAContextThatItEndsIsConfirmed"},
	},
	{
		name:    "an attempt waits longer than its lock would be valid",
		breaks:  "S2: an attempt waits no longer than the validity, because later it cannot succeed",
		edits:   []edit{{"internal/hold/manager.go", "return min(d, manager.cfg.Validity(ttl))", "return d"}},
		foundBy: goTest{"./redlock", "TestThreeFrozenMastersAreNoQuorumWithinTheTimeout"},
	},
	{
		name:    "an extended lock is not released on masters that once refused it",
		breaks:  "L2: a release leaves no key behind",
		edits:   []edit{{"internal/hold/extend.go", "h.extended, h.claim.Absent = true, 0", "h.extended = true"}},
		foundBy: goTest{"./redlock", "TestForgetfulMasterCountsFromTheNextExtensionOn"},
	},
	{
		name:    "an extension does not prolong the TTL",
		breaks:  "S6: an extension gives the key its full TTL on every master",
		edits:   []edit{{"internal/script/extend.lua", "math.max(redis.call('PTTL', KEYS[1]), ARGV[2])", "redis.call('PTTL', KEYS[1])"}},
		foundBy: goTest{"./redlock", "TestEverySortIsRenewedVerifiedAndExtendedAndALeaseEndsBeforeItsKeys"},
	},
	{
		name:    "a release is dropped when its connection breaks",
		breaks:  "L2: a release reaches a master even if the connection breaks",
		edits:   []edit{{"internal/pipeline/supervise.go", "!c.mayRetry(now):", "c.mayRetry(now) || true:"}},
		foundBy: goTest{"./internal/pipeline", "TestKeptCallsSurviveAReconnectInOrderAndAheadOfNewerOnes"},
	},
	{
		name:   "a master known not to have the key counts as failed",
		breaks: "Unlock reports a loss, not an outage, if a quorum does not have the key",
		edits: []edit{{"internal/ballot/send.go", `{Verdict: Refused}
			b.tally.Refused++`, `{Verdict: Failed}
			b.tally.Failed++`}},
		foundBy: goTest{"./internal/ballot", "TestMastersWhoseAnswerIsKnownAreNotAsked"},
	},
	{
		name:    "Adopt does not compare the old token",
		breaks:  "S1: if several calls adopt one token, at most one holds the lock",
		edits:   []edit{{"internal/script/guarded.lua", "  if held ~= from then return", "  if from and not held then return"}},
		also:    simulation{"adoptions", history.Overlap, 20},
		foundBy: goTest{"./redlock", "TestAdoptTakesOverWhatAnotherClientHandedOn"},
	},
	{
		name:    "Adopt keeps the old token",
		breaks:  "S3: every attempt has its own token",
		edits:   []edit{{"internal/hold/adopt.go", "	a := n.begin(ctx, time.Now().Add(n.hold.manager.Timeout(n.hold.claim.TTL)))\n", "	a := n.begin(ctx, time.Now().Add(n.hold.manager.Timeout(n.hold.claim.TTL)))\n	n.hold.claim.Token = token\n"}},
		foundBy: goTest{"./redlock", "TestAdoptTakesOverWhatAnotherClientHandedOn"},
	},
	{
		name:    "the release of an adopted lock leaves the old token on some masters",
		breaks:  "L2: a release leaves no key behind",
		edits:   []edit{{"internal/hold/release.go", "	h.releaseReplaced()\n	return ", "	return "}},
		foundBy: goTest{"./redlock", "TestReleaseOfAnAdoptedLockRemovesTheOldTokenEverywhere"},
	},
	{
		name:    "HandOver of an adopted lock leaves the old token on some masters",
		breaks:  "L2: a release leaves no key behind",
		edits:   []edit{{"internal/hold/release.go", "	h.releaseReplaced()\n	end := ", "	end := "}},
		foundBy: goTest{"./redlock", "TestCloseAndHandOverOfAnAdoptedLockRemoveTheOldToken"},
	},
	{
		name:    "a failed adoption releases the old token",
		breaks:  "a failed adoption does not release the lock of the old token",
		edits:   []edit{{"internal/hold/release.go", " || h.life.validity == 0 {", " {"}},
		foundBy: goTest{"./redlock", "TestAdoptVerifiesAtAQuorum"},
	},
	{
		name:    "an adoption leaves the lease of the old token",
		breaks:  "an adoption replaces the lease of the old token",
		edits:   []edit{{"internal/script/guarded.lua", "    if from then redis.call('ZREM', lease, from) end\n", ""}},
		foundBy: goTest{"./internal/script", "TestAnAdoptionReplacesTheTokenWhereItStands"},
	},
	{
		name:    "a lock whose validity ran out is released at once",
		breaks:  "S7: the drift allowance lies between the holder's loss and the next grant",
		edits:   []edit{{"internal/hold/life.go", "		h.manager.renewer.postpone(h)\n", "		h.sendRelease(true)\n		h.manager.renewer.remove(h)\n"}},
		foundBy: goTest{"./redlock", "TestAKeyOutlivesTheLossByTimeUntilItsTTLIsOver"},
	},
	{
		name:    "HandOver does not wait for a late renewal",
		breaks:  "S1: a token that was handed over is not set again",
		edits:   []edit{{"internal/hold/release.go", "	h.setting.Wait(left)\n", "	h.setting.Wait(min(left, h.manager.Timeout(h.claim.TTL)))\n"}},
		foundBy: goTest{"./redlock", "TestHandOverWaitsForWhatIsUnderWay"},
	},
	{
		name:    "Close drops commands that busy masters have not read",
		breaks:  "progress: Close releases all held locks",
		edits:   []edit{{"redlock/client.go", "c.awaitAnswers(limit)", "c.group.InFlight.Wait(limit)"}},
		foundBy: goTest{"./redlock", "TestCloseWaitsForMastersThatGoOnAnswering"},
	},
	{
		name:    "a granted attempt whose trace panics is not rolled back",
		breaks:  "L2: a failed attempt is rolled back",
		edits:   []edit{{"internal/hold/attempt.go", "	defer func() {\n		if !settled {\n			h.rollback()\n		}\n	}()\n	h.owner.Answered(h.owner.Context(), ask)\n", "	h.owner.Answered(h.owner.Context(), ask)\n	defer func() {\n		if !settled {\n			h.rollback()\n		}\n	}()\n"}},
		foundBy: goTest{"./redlock", "TestAnAttemptWhoseTracePanicsIsRolledBack"},
	},
	{
		name:    "an extension fails before it is known that the key is gone",
		breaks:  "S6: a lock whose key is gone is lost, although the extension sets the key again",
		edits:   []edit{{"internal/wire/op.go", "		r.Gone = true\n", ""}},
		foundBy: goTest{"./redlock", "TestALockThatIsGoneWhereverMastersAnswerIsLostAtItsNextRenewal"},
	},
	{
		name:    "a reentrant handle stays after its trace panics",
		breaks:  "progress: the Unlock of the last handle releases the lock",
		edits:   []edit{{"redlock/reentrant.go", "		if leaves != nil { // a trace has panicked\n", "		if false {\n"}},
		foundBy: goTest{"./redlock", "TestAReentrantCallWhoseTracePanicsLeavesNoHandle"},
	},
	{
		name:   "a lost lock is released after a TTL that was never confirmed",
		breaks: "progress: a lost lock is free when its confirmed TTL has ended",
		edits: []edit{
			{"internal/hold/renew.go", "now + h.life.unexpired(instant)", "now + max(0, h.claim.TTL-instant.Sub(h.life.start))"},
			{"internal/hold/renew.go", "h.life.unexpired(instant) == 0", "h.claim.TTL <= instant.Sub(h.life.start)"},
		},
		foundBy: goTest{"./redlock", "TestAKeyIsReleasedByTheTTLThatWasConfirmedLast"},
	},
	{
		name:    "a refused release is not sent again",
		breaks:  "progress: an unlocked lock is free soon after the masters accept writes again",
		edits:   []edit{{"internal/ballot/round.go", "	return b.cfg.Masters[c.Slot].RetryLater(c)\n", "	return false\n"}},
		also:    simulation{"refused", history.Litter, 5},
		foundBy: goTest{"./internal/ballot", "TestARefusedCallThatPersistsIsSentAgain"},
	},
	{
		name:    "the pause of a refused release depends on the wall clock",
		breaks:  "progress: a clock that is set back does not delay a refused release",
		edits:   []edit{{"internal/pipeline/postponed.go", "return t.Add(postponedGrid - time.Duration(t.UnixNano())%postponedGrid)", "return t.Truncate(postponedGrid).Add(postponedGrid)"}},
		foundBy: goTest{"./internal/pipeline", "TestPausesDoNotDependOnTheWallClock"},
	},
	{
		name:    "an acquisition that wrote nothing is released all the same",
		breaks:  "progress: masters that refuse writes do not fill their queues",
		edits:   []edit{{"internal/pipeline/errors.go", "	return slices.ContainsFunc(refusesToWrite,", "	return reply == \"\" && slices.ContainsFunc(refusesToWrite,"}},
		foundBy: goTest{"./internal/wire", "TestAMasterThatRefusesToWriteHasNothingToRelease"},
	},
	{
		name:    "an abandoned call is sent",
		breaks:  "S5: an abandoned call is not sent on the next connection",
		edits:   []edit{{"internal/pipeline/session.go", "c.Owner.Abandoned(c) || c.Sent", "c.Sent"}},
		foundBy: goTest{"./internal/pipeline", "TestAKeptCallThatIsAbandonedMeanwhileIsNotSentAgain"},
	},
	{
		name:    "a release is kept for longer than its key can live",
		breaks:  "the number of releases kept for a master that is down has a bound",
		edits:   []edit{{"internal/pipeline/supervise.go", "!c.mayRetry(now):", "!c.mayRetry(now.Add(-time.Hour)):"}},
		foundBy: goTest{"./internal/pipeline", "TestKeptCallsFailOnceTheirTimeIsOverWhileTheMasterIsDown"},
	},
	{
		name:    "the pause before a refused release is resent does not grow",
		breaks:  "progress: resent releases do not load masters that refuse writes",
		edits:   []edit{{"internal/pipeline/postponed.go", "leastPostponed<<c.refusals", "leastPostponed"}},
		foundBy: goTest{"./internal/pipeline", "TestARefusedCallIsSentAgainAfterPausesThatDouble"},
	},
	{
		name:    "a refused release waits beyond its time limit",
		breaks:  "progress: a refused release ends when its time limit ends",
		edits:   []edit{{"internal/pipeline/postponed.go", "	if !c.mayRetry(due) {", "	if !c.mayRetry(time.Now()) {"}},
		foundBy: goTest{"./internal/pipeline", "TestARefusedCallIsGivenUpWhenItIsNotKeptAnyLonger"},
	},
	{
		name:    "refused releases may fill the queue",
		breaks:  "progress: masters that refuse writes do not fill their queues",
		edits:   []edit{{"internal/pipeline/postponed.go", " || len(p.postponed.calls) >= p.cfg.QueueLimit/2", ""}},
		foundBy: goTest{"./internal/pipeline", "TestPostponedCallsTakeHalfOfTheQueueAtMost"},
	},
	{
		name:    "Close forgets refused releases",
		breaks:  "each call completes exactly once, at the latest in Close",
		edits:   []edit{{"internal/pipeline/postponed.go", "	over := p.postponed.calls\n	p.postponed.calls = nil\n", "	var over []pausing\n	p.postponed.calls = nil\n"}},
		foundBy: goTest{"./internal/pipeline", "TestPostponedCallsEndWithThePipeline"},
	},
	{
		name:    "an extension that began earlier shortens the hold",
		breaks:  "S6: an extension never shortens a hold",
		edits:   []edit{{"internal/hold/extend.go", "case validity-took > h.life.remaining(now):", "case true:"}},
		foundBy: goTest{"./internal/hold", "TestAnExtensionThatBeganEarlierShortensNoHold"},
	},
	{
		name:    "a call joins a hold that has ended",
		breaks:  "S7: no call can join a hold that has ended",
		edits:   []edit{{"internal/hold/handle.go", "	case in.unusable() != nil:\n		return false, Over\n	case h.claim.Kind", "	case h.claim.Kind"}},
		foundBy: goTest{"./internal/hold", "TestTheLastHandleReleases"},
	},
	{
		name:    "one renewal more than allowed",
		breaks:  "a hold is not renewed more often than its options allow",
		edits:   []edit{{"internal/hold/renew.go", "h.renewal.count >= o.MaxCount", "h.renewal.count > o.MaxCount"}},
		foundBy: goTest{"./internal/hold", "TestNoRenewalIsPlannedBeyondItsBounds"},
	},
	{
		name:    "batched releases remove all leases by the first token",
		breaks:  "S4: each lease is removed by its own token",
		edits:   []edit{{"internal/script/releaseleases.lua", "KEYS[#KEYS], ARGV[i])", "KEYS[#KEYS], ARGV[1])"}},
		foundBy: goTest{"./internal/script", "TestJoinedReleasesClearTheirLeases"},
	},
	{
		name:    "a release waits for a master whose connection is lost",
		breaks:  "L1: a round is decided as early as the answers allow",
		edits:   []edit{{"internal/ballot/round.go", "		b.tally.Failed++\n		b.decide()\n	}\n	if b.Notify.Has(c.Slot)", "		b.tally.Failed++\n	}\n	if b.Notify.Has(c.Slot)"}},
		foundBy: goTest{"./internal/ballot", "TestTheLossOfAMasterDecidesAlthoughItsCallIsKept"},
	},
	{
		name:    "the timer of one round decides the next",
		breaks:  "L4: nothing of one round remains in the next",
		edits:   []edit{{"internal/ballot/wait.go", "		<-b.ticked // it", "		// it"}},
		foundBy: goTest{"./internal/ballot", "TestADeadlineEndsOneUseOnly"},
	},
}
