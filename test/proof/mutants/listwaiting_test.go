package mutants

// ofTheWaiting are mistakes about those who wait, clocks that are set meanwhile, and
// what is told. No history shows them: they cost progress, fairness, or secrets.
var ofTheWaiting = []mutant{
	{
		name:    "a step back that hides a later one forward",
		breaks:  "S7: a hold is lost in time, however the wall clock is set",
		edits:   []edit{{"redlock/client.go", "o.clock = drift.Cumulative(o.clock)", "o.clock = drift.Clock(o.clock)"}},
		foundBy: goTest{"./redlock", "TestAStepBackOfTheWallClockHidesNoLaterStepForward"},
	},
	{
		name:    "a turn that is marked for long",
		breaks:  "progress: a mark counts within its grace only, though the clock was set back",
		edits:   []edit{{"internal/script/handover.lua", " and -score <= time + GRACE", ""}},
		foundBy: goTest{"./internal/script", "TestAMarkFurtherAheadThanItsGraceDoesNotCount"},
	},
	{
		name:    "a place in the future",
		breaks:  "fairness: nobody came later than now",
		edits:   []edit{{"internal/script/handover.lua", "  place = math.min(place, time)\n", ""}},
		foundBy: goTest{"./internal/script", "TestAPlaceInTheFutureCountsAsNow"},
	},
	{
		name:    "an intent that stands for ever",
		breaks:  "progress: a writer's intent keeps readers out for 2 s",
		edits:   []edit{{"internal/script/reader_acquire.lua", "string.format('%.0f', now + INTENT)", "'+inf'"}},
		foundBy: goTest{"./internal/script", "TestAnIntentFurtherAheadThanItStandsDoesNotCount"},
	},
	{
		name:    "a reader that outlives the longest TTL",
		breaks:  "progress: a set of readers expires, though the clock was set back",
		edits:   []edit{{"internal/script/readers.lua", "if tonumber(last[2]) <= most then", "if true then"}},
		foundBy: goTest{"./internal/script", "TestAReaderFurtherAheadThanTheLongestTTLIsCutToThat"},
	},
	{
		name:    "a reader ahead that is dropped",
		breaks:  "S1: no writer beside a reader that is alive",
		edits:   []edit{{"internal/script/readers.lua", "redis.call('ZADD', readers, string.format('%.0f', most), last[1])", "redis.call('ZREM', readers, last[1])"}},
		foundBy: goTest{"./internal/script", "TestAReaderFurtherAheadThanTheLongestTTLIsCutToThat"},
	},
	{
		name:    "a place that is lost with the connection",
		breaks:  "fairness: who could not be reached comes back to its place",
		edits:   []edit{{"internal/waitqueue/pilotask.go", "		return q.w.age()\n	}\n	return q.turn.Score\n", "		return q.turn.Score\n	}\n	return q.turn.Score\n"}},
		foundBy: goTest{"./redlock", "TestWhoCouldNotBeReachedComesBackToItsPlaceInTheQueue"},
	},
	{
		name:   "a pilot that is passed over for good",
		breaks: "fairness: who waits comes back to a pilot that it could not reach",
		edits: []edit{
			{"internal/waitqueue/waiter.go", "case errors.Is(err, pipeline.ErrConnectionLost), errors.Is(err, pipeline.ErrDown), errors.Is(err, pipeline.ErrStalled):", "case false:"},
			{"internal/pilot/pilot.go", "until: time.Since(c.since) + d}", "until: time.Since(c.since) + 1000000*d}"},
			{"internal/pilot/pilot.go", " && m.epoch == c.masters[master].Stats().Epoch", ""},
		},
		foundBy: goTest{"./internal/waitqueue", "TestOnlyAPilotThatRefusesItsQueueIsPassedOver"},
	},
	{
		name:    "a refusal that outlasts the connection",
		breaks:  "fairness: a master that is dialled again may be a pilot again",
		edits:   []edit{{"internal/pilot/pilot.go", " && m.epoch == c.masters[master].Stats().Epoch", ""}},
		foundBy: goTest{"./internal/pilot", "TestARefusalEnds"},
	},
	{
		name:    "a refusal that does not end",
		breaks:  "fairness: a master that refused a queue may be a pilot later",
		edits:   []edit{{"internal/pilot/pilot.go", "m.until > time.Since(c.since) &&", "true &&"}},
		foundBy: goTest{"./internal/pilot", "TestARefusalEnds"},
	},
	{
		name:    "a stalled connection that is given up with a lock's release unwritten",
		breaks:  "S5: a release is written behind all that may set its keys",
		edits:   []edit{{"internal/pipeline/parked.go", "	k.waiting = append(k.waiting, command...)\n", "	_ = command\n"}},
		foundBy: goTest{"./internal/pipeline", "TestAReleaseIsWrittenBehindWhatAStoppedMasterHasReceived"},
	},
	{
		name:    "a connection that is parked beside the next one",
		breaks:  "S5: late bytes are not executed behind a later connection's",
		edits:   []edit{{"internal/pipeline/supervise.go", "	p.unpark().abort()\n", ""}},
		foundBy: goTest{"./internal/pipeline", "TestAMasterThatIsConnectedAgainGetsTheReleaseThere"},
	},
	{
		name:    "votes that are asked of a silent master",
		breaks:  "what nobody waits for is not left to a stopped master",
		edits:   []edit{{"internal/pipeline/pipeline.go", "c.Vote && p.silent.Load()", "false"}},
		foundBy: goTest{"./internal/pipeline", "TestASilentMasterIsNotAskedForVotes"},
	},
	{
		name:    "wrong passwords that are waited for",
		breaks:  "a call fails at once where only a change of the configuration helps",
		edits:   []edit{{"internal/waitqueue/poll.go", "over && (want.Tries == 0 || misconfigured(failed))", "over && want.Tries == 0"}},
		foundBy: goTest{"./redlock", "TestLockFailsAtOnceWhenRefusedPasswordsRuleAQuorumOut"},
	},
	{
		name:    "a pilot's call that is lost with its waiter",
		breaks:  "progress: who is called tries for the lock, or passes the call on",
		edits:   []edit{{"internal/waitqueue/pilotask.go", "			r.passOn(i, q.w.key)\n", "			_ = i\n"}},
		foundBy: goTest{"./internal/waitqueue", "TestCallsThatWereNotActedOnArePassedOn"},
	},
	{
		name:    "a release that wakes its own process though another client was told",
		breaks:  "fairness: one process does not starve the others",
		edits:   []edit{{"internal/waitqueue/room.go", "		r.recent.note(key, true)\n	case wire.ThisClient:\n", "		r.recent.note(key, true)\n		fallthrough\n	case wire.ThisClient:\n"}},
		foundBy: goTest{"./internal/waitqueue", "TestAReleaseWakesWhoeverItWasHandedTo"},
	},
	{
		name:    "votes that are split again at once",
		breaks:  "progress: callers that collide part by pauses",
		edits:   []edit{{"internal/waitqueue/waiter.go", "	if w.counts.collisions < 2 {\n", "	if true {\n"}},
		foundBy: goTest{"./internal/waitqueue", "TestEachStateDoesWhatItsSituationAsksFor"},
	},
	{
		name:    "a pilot's part in a hand-over that is sent again as another script",
		breaks:  "S8: the pilot stores the fencing token that it gives",
		edits:   []edit{{"internal/wire/ask.go", "		s = at.take.script\n", "		s = script.Queue\n"}},
		foundBy: goTest{"./redlock", "TestAPilotWithoutItsScriptsTakesPartInTheHandOver"},
	},
	{
		name:    "a set with a fencing token whose release wakes nobody",
		breaks:  "progress: a release hands over, whatever scripts the lock was acquired by",
		edits:   []edit{{"internal/wire/release.go", "if handOver && c.Kind.handOver != nil {", "if handOver && c.Kind.handOver != nil && !w.scripted(c) {"}},
		foundBy: goTest{"./redlock", "TestEveryReleaseWakesEverySortOfWaiter"},
	},
	{
		name:    "a set in strict whose release leaves its leases",
		breaks:  "progress: who is handed a set over is not kept out by the lease of the last holder",
		edits:   []edit{{"internal/wire/scripted.go", "	return k.scripted.handOver, withLeases(keys)\n", "	return k.handOver, keys\n"}},
		foundBy: goTest{"./redlock", "TestAHandOverTakesTwoRoundTrips"},
	},
	{
		name:    "a set that splits the vote again and again",
		breaks:  "progress: sets that take votes from each other part by pauses",
		edits:   []edit{{"internal/waitqueue/set.go", "	case f.Agreed&(1<<q.pilot) != 0:\n		w.counts.collisions++\n", "	case f.Agreed&(1<<q.pilot) != 0:\n"}},
		foundBy: goTest{"./internal/waitqueue", "TestASetWhoseVotesWereSplitPausesBeforeItsNextTurn"},
	},
	{
		name:    "a set that others overtake once its votes were split",
		breaks:  "progress: a set that is called asks as soon as the others",
		edits:   []edit{{"internal/waitqueue/pilotask.go", "(w.counts.collisions == 0 || w.want.isSet())", "w.counts.collisions == 0"}},
		foundBy: goTest{"./internal/waitqueue", "TestEachStateDoesWhatItsSituationAsksFor"},
	},
	{
		name:    "a set that a pilot grants in strict though it may not vote",
		breaks:  "S1: only votes of masters that may vote count",
		edits:   []edit{{"internal/wire/take.go", "w.allKeys(c), args[:]...).vote(ctx, start, limit)", "w.allKeys(c), args[:]...).wait(ctx, limit)"}},
		foundBy: goTest{"./redlock", "TestWhatAPilotGrantsThatMayNotVoteDoesNotCount"},
	},
	{
		name:    "a set that asks again and again for what is leased",
		breaks:  "progress: who waits loads no master",
		edits:   []edit{{"internal/waitqueue/pilotask.go", " && t.Held.Type != wire.LeaseType {", " {"}},
		foundBy: goTest{"./redlock", "TestASetThatMeetsALeaseWaits"},
	},
	{
		name:    "a waiter for one of several keys that keeps its turns for the others while it asks for one",
		breaks:  "progress: a turn that is not acted on is passed on at once",
		edits:   []edit{{"internal/waitqueue/anyof.go", "	delete(q.queued, at)\n	q.giveBack() // at once: it is others' turn there\n	q.queued[at] = true\n", ""}},
		foundBy: goTest{"./internal/waitqueue", "TestEachStateDoesWhatItsSituationAsksFor"},
	},
	{
		name:    "a token that is shown whole",
		breaks:  "logs and errors give nobody a lock",
		edits:   []edit{{"internal/token/token.go", "shownRandom  = 4", "shownRandom  = 32"}},
		foundBy: goTest{"./internal/token", "TestAShownTokenLeavesMostOfItOut"},
	},
	{
		name:    "a planned end that counts as a loss",
		breaks:  "a lease that ends in time is no loss",
		edits:   []edit{{"redlock/metrics/trace.go", " && !err.Planned", ""}},
		foundBy: goTest{"./redlock/metrics", "TestAHoldThatEndsAsPlannedIsNoLoss"},
	},
}
