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
		edits:   []edit{{"internal/waitqueue/room.go", "	case wire.AnotherClient:\n	case wire.ThisClient:\n", "	case wire.AnotherClient, wire.ThisClient:\n"}},
		foundBy: goTest{"./internal/waitqueue", "TestAReleaseWakesWhoeverItWasHandedTo"},
	},
	{
		name:    "votes that are split again at once",
		breaks:  "progress: callers that collide part by pauses",
		edits:   []edit{{"internal/waitqueue/waiter.go", "	if w.counts.collisions < 2 {\n", "	if true {\n"}},
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
