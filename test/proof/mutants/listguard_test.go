package mutants

// ofTheGuard are mistakes about who may vote. Histories show few of them: they take
// operators, replicas and clocks that the simulation does not have.
var ofTheGuard = []mutant{
	{
		name:    "another history votes",
		breaks:  "S1: a master whose data has another history is in quarantine",
		edits:   []edit{{"internal/guard/dial.lua", "elseif m.replid ~= '' and replid ~= '' and m.replid ~= replid then", "elseif false then"}},
		foundBy: goTest{"./internal/guard", "TestDialQuarantinesAnotherProcessAndAnotherHistory"},
	},
	{
		name:    "a check that compares no history",
		breaks:  "S1: a resynchronisation on a living connection takes the vote",
		edits:   []edit{{"internal/guard/check.go", `, !bytes.Contains(info, []byte("\nmaster_replid:"+fields[2])):`, ":"}},
		foundBy: goTest{"./internal/guard", "TestTheCheckAnswersNothingOfAnotherHistory"},
	},
	{
		name:    "a check that takes a replica for a master",
		breaks:  "S1: a replica does not vote",
		edits:   []edit{{"internal/guard/check.go", `!bytes.Contains(info, []byte("\nrole:master\r\n")), `, ""}},
		foundBy: goTest{"./internal/guard", "TestAMasterThatWasAReplicaAbstainsFirst"},
	},
	{
		name:    "a check that is not compared with the history",
		breaks:  "S1: a check holds for the marker as it was judged",
		edits:   []edit{{"internal/guard/check.go", "mark(m.Run, m.Since, m.Replid, m.DB)", "mark(m.Run, m.Since, m.DB)"}},
		foundBy: goTest{"./internal/guard", "TestTheCheckHoldsForItsOwnReplyAlone"},
	},
	{
		name:   "a sighting that each look moves",
		breaks: "what is known of a master without a marker is kept for the callers after",
		edits: []edit{{
			"internal/guard/marker.lua", "      return math.min(ms - s[3], wall - s[4])\n",
			`      redis.call('HSET', sighting, 'since', ms, 'wall', wall)
      return math.min(ms - s[3], wall - s[4])
`,
		}},
		foundBy: goTest{"./internal/guard", "TestAMasterWithoutAMarkerIsSightedOnceAndLaterLooksLeaveThat"},
	},
	{
		name:    "the sighting of another process",
		breaks:  "S1: only the process that was seen empty has been so since",
		edits:   []edit{{"internal/guard/marker.lua", "s[1] == run and ", ""}},
		foundBy: goTest{"./internal/guard", "TestASightingThatIsNotOfThisProcessAndPastBeginsAnew"},
	},
	{
		name:    "a sighting as old as the master's clock says",
		breaks:  "S1: a clock that is set ends no quarantine",
		edits:   []edit{{"internal/guard/marker.lua", "math.min(ms - s[3], wall - s[4])", "ms - s[3]"}},
		foundBy: goTest{"./internal/guard", "TestASightingIsAsOldAsTheYoungerOfBothClocksSays"},
	},
	{
		name:    "an adoption at once",
		breaks:  "a master is adopted when it has been seen empty for a second",
		edits:   []edit{{"internal/guard/adopt.lua", "if age < tonumber(ARGV[11]) then", "if false then"}},
		foundBy: goTest{"./internal/guard", "TestAMasterIsAdoptedAfterASecondWithoutAMarkerAndNotBefore"},
	},
	{
		name:    "an adoption before all have answered",
		breaks:  "masters are adopted when every one has answered or failed",
		edits:   []edit{{"internal/guard/fleet.go", " && !slices.ContainsFunc(facts, func(f Facts) bool { return f.Pending })", ""}},
		foundBy: goTest{"./internal/guard", "TestEmptyMastersAreAdoptedWhenNothingMoreIsToBeLearnt"},
	},
	{
		name:    "Init over a master that was restarted",
		breaks:  "S1: Init declares only masters that had nothing to remember",
		edits:   []edit{{"internal/guard/init.lua", "(m.how == 'adopted' or m.how == 'created')", "(m.how == 'adopted' or m.how == 'created' or m.how == 'restarted')"}},
		foundBy: goTest{"./internal/guard", "TestInitReplacesAMarkerThatWasGivenLatelyAndNoOther"},
	},
	{
		name:    "a marker that ages by the master's clock",
		breaks:  "S1: a clock that is set while this client looks on ends no quarantine",
		edits:   []edit{{"internal/guard/facts.go", "if ok && f.Age.of(f.Marker) {", "if false {"}},
		foundBy: goTest{"./internal/guard", "TestAClockThatIsSetRightAfterABootEndsNoQuarantine"},
	},
	{
		name:    "a client's wall clock that is not heard",
		breaks:  "S1: a clock that was set before this client looked ends no quarantine",
		edits:   []edit{{"internal/guard/marker.go", "if wall, ok := instant(m.Wall); ok {", "if wall, ok := instant(m.Wall); false && ok {"}},
		foundBy: goTest{"./internal/guard", "TestAgeIsBoundedByOurWallClockUnlessThatIsBehind"},
	},
	{
		name:    "a wrongly declared fleet that goes on",
		breaks:  "S1: a fleet that was declared new, and was not, loses its vote",
		edits:   []edit{{"internal/guard/fleet.go", "c.wrongly(facts, now); declared != nil {", "c.wrongly(facts, now); false && declared != nil {"}},
		foundBy: goTest{"./internal/guard", "TestPlanOfWhatMarkersSayOfTheirFleet"},
	},
	{
		name:    "a voter that is not looked at again",
		breaks:  "S1: a master is judged anew every 5 s, also without traffic",
		edits:   []edit{{"internal/voters/monitor.go", "if w.epoch == 0 || w.asking != nil {", "if w.epoch == 0 || w.asking != nil || w.standing.Vote {"}},
		foundBy: goTest{"./redlock", "TestAClientWithoutTrafficSeesAnotherHistoryWithinFiveSeconds"},
	},
	{
		name:   "a voter that is asked for its time alone",
		breaks: "S1: a master is judged anew every 5 s, by all that it was judged by first",
		edits: []edit{{
			"internal/voters/inquiry.go", "	q.g.addReading(q.i, m.Clock)\n",
			`	q.g.addReading(q.i, m.Clock)
	if w.standing.Vote {
		return
	}
`,
		}},
		foundBy: goTest{"./redlock", "TestAClientWithoutTrafficSeesAnotherHistoryWithinFiveSeconds"},
	},
	{
		name:    "an answer by another connection",
		breaks:  "S1: a master is judged by what came on its present connection",
		edits:   []edit{{"internal/voters/inquiry.go", "case last.Epoch != q.epoch:", "case false:"}},
		foundBy: goTest{"./internal/voters", "TestAnAnswerByAnotherConnectionTellsNothingOfTheMaster"},
	},
	{
		name:    "the run_id of another connection",
		breaks:  "S1: a connection says who serves it, and no other",
		edits:   []edit{{"internal/voters/inquiry.go", "case call.Err == nil && call.Epoch != q.epoch:", "case false:"}},
		foundBy: goTest{"./internal/voters", "TestAnAnswerByAnotherConnectionTellsNothingOfTheMaster"},
	},
	{
		name:    "a handshake that is believed whoever has answered it",
		breaks:  "S1: a connection says who serves it, and no other",
		edits:   []edit{{"internal/voters/inquiry.go", "m.Run == \"\" || m.Run == runID", "m.Run == \"\" || true"}},
		foundBy: goTest{"./internal/voters", "TestAHandshakeThatIsServedByTwoProcessesJudgesNobody"},
	},
	{
		name:    "questions before the connection before is killed",
		breaks:  "S5: nothing goes out before what may still be on its way is known not to be executed",
		edits:   []edit{{"internal/pipeline/dial.go", "if previous.isNone() {", "if true {"}},
		foundBy: goTest{"./internal/pipeline", "TestAGreetingGoesOutWithTheFirstHandshakeAlone"},
	},
	{
		name:    "an early lock on a second connection",
		breaks:  "S5: nothing goes out before the previous connection was killed",
		edits:   []edit{{"internal/pipeline/dial.go", "\t\tid.early = p.takeEarly()\n\t\tid.early.ask(h)\n\t}\n", "\t}\n\tid.early = p.takeEarly()\n\tid.early.ask(h)\n"}},
		foundBy: goTest{"./internal/pipeline", "TestAnEarlyCallGoesOutWithTheFirstHandshakeAlone"},
	},
	{
		name:    "an early lock that overtakes the queue",
		breaks:  "S5: commands about a key stay in order",
		edits:   []edit{{"internal/pipeline/early.go", "for n < len(p.queue) && p.queue[n].Undo != nil {\n\t\tn++\n\t}", "n = len(p.queue)"}},
		foundBy: goTest{"./internal/pipeline", "TestAnEarlyCallDoesNotOvertakeTheQueue"},
	},
	{
		name:    "an early lock that stays where the password was refused",
		breaks:  "L2: what a failed attempt has set is rolled back",
		edits:   []edit{{"internal/pipeline/dial.go", "\t\tid.early.takeBack(h)\n", ""}},
		foundBy: goTest{"./internal/pipeline", "TestAnEarlyCallIsUndoneWhereTheHandshakeIsRefused"},
	},
	{
		name:    "an early lock of a connection that counts as unused",
		breaks:  "L2: Close lets a rollback go out",
		edits:   []edit{{"internal/pipeline/pipeline.go", " && !p.used\n", "\n"}},
		foundBy: goTest{"./internal/pipeline", "TestAPipelineIsUsedOnceAnEarlyCallWentOut"},
	},
	{
		name:    "an early lock without the check of its flush",
		breaks:  "S1: a vote counts only while the marker is as judged",
		edits:   []edit{{"internal/pipeline/early.go", "\t\t\tc.Checked = said\n", "\t\t\tc.Checked = &Checked{Mark: said.Mark}\n"}},
		foundBy: goTest{"./internal/pipeline", "TestAnEarlyCallGoesOutWithTheFirstHandshakeAlone"},
	},
	{
		name:    "an early lock under another MaxTTL",
		breaks:  "guard: masters of another fleet get no lock",
		edits:   []edit{{"internal/guard/acquire.lua", "if m[i] ~= value then", "if i ~= 2 and m[i] ~= value then"}},
		foundBy: goTest{"./redlock", "TestAFirstLockThatIsNotGrantedEarlyLeavesNothing"},
	},
	{
		name:    "an early lock on a fleet that is being moved",
		breaks:  "guard: who does not know of the move takes no lock",
		edits:   []edit{{"internal/guard/acquire.lua", "if m[6] and m[6] ~= '' then return -1 end\n", ""}},
		foundBy: goTest{"./redlock", "TestAFirstLockThatIsNotGrantedEarlyLeavesNothing"},
	},
	{
		name:    "an early lock that is not rolled back",
		breaks:  "L2: what a failed attempt has set is rolled back",
		edits:   []edit{{"internal/hold/early.go", "\th.rollback()\n", ""}},
		foundBy: goTest{"./redlock", "TestAFirstLockThatIsNotGrantedEarlyLeavesNothing"},
	},
	{
		name:    "a Close that drops what it has not been answered",
		breaks:  "L2: Close lets releases go out",
		edits:   []edit{{"internal/pipeline/pipeline.go", "s.end(ErrClosed, s.wire.leave)", "s.fail(ErrClosed)"}},
		foundBy: goTest{"./redlock", "TestCloseDoesNotWaitForTheFarthestMaster"},
	},
	{
		name:    "a Close that does not wait for rollbacks to come",
		breaks:  "L2: Close lets a rollback go out",
		edits:   []edit{{"redlock/client.go", "!c.ownsPool || c.running.Load() != 0", "!c.ownsPool"}},
		foundBy: goTest{"./redlock", "TestCloseDuringAnAttemptThatIsNotDecidedLeavesNothing"},
	},
	{
		name:    "an attempt that begins behind Close",
		breaks:  "L2: Close lets a rollback go out",
		edits:   []edit{{"internal/hold/attempt.go", "limit: limit, overdue: home.closed()}", "limit: limit}"}},
		foundBy: goTest{"./internal/hold", "TestAnAttemptThatBeginsBehindCloseAsksNobody"},
	},
	{
		name:    "a Close that does not wait until calls have left the queues",
		breaks:  "L2: no client is left in a queue",
		edits:   []edit{{"internal/waitqueue/room.go", "{ r.lines.awaitNone(limit) }", "{ _ = limit }"}},
		foundBy: goTest{"./internal/waitqueue", "TestAwaitLeaveLastsUntilEverybodyHasLeft"},
	},
	{
		name:    "a Close that leaves more than a master reads at once",
		breaks:  "L2: Close lets releases go out",
		edits:   []edit{{"internal/pipeline/delivery.go", "o.unanswered.Load() <= readAtOnce &&", ""}},
		foundBy: goTest{"./redlock", "TestCloseWaitsForTheFarthestMasterWhereMuchIsOnItsWay"},
	},
	{
		name:    "a Close that leaves near masters",
		breaks:  "L2: Close lets releases go out",
		edits:   []edit{{"internal/pipeline/delivery.go", "o.nearest.Load() >= int64(farFrom) && ", ""}},
		foundBy: goTest{"./redlock", "TestCloseWaitsForTheAnswersOfNearMasters"},
	},
	{
		name:    "a Close that leaves what it has just sent",
		breaks:  "L2: Close lets releases go out",
		edits:   []edit{{"internal/pipeline/delivery.go", "int64(now)-o.last.Load() >= int64(restsFor)", "true"}},
		foundBy: goTest{"./internal/pipeline", "TestDeliveryTellsHowFarCallsHaveCome"},
	},
	{
		name:    "an early lock whose validity begins after the dial",
		breaks:  "S2: the validity is counted from before the first byte",
		edits:   []edit{{"internal/hold/early.go", "\th.claim.Absent = res.Absent\n", "\th.claim.Absent = res.Absent\n\th.life.start = now\n"}},
		foundBy: goTest{"./redlock", "TestTheFirstLockTakesTwoRoundTrips"},
	},
	{
		name:    "a check that is read by its first half",
		breaks:  "S1: a vote counts with its check, and with the whole of it",
		edits:   []edit{{"internal/pipeline/check.go", "	if i < checkSize-1 {\n		return nil\n	}\n", ""}},
		foundBy: goTest{"./internal/pipeline", "TestOneCheckEndsAFlushAndIsToldToAllThatAskedForIt"},
	},
	{
		name:    "an INFO that fails and is taken for one that is not permitted",
		breaks:  "S1: a vote counts with its check, and with the whole of it",
		edits:   []edit{{"internal/guard/check.go", "refused != \"\" && !notPermitted(refused)", "false"}},
		foundBy: goTest{"./internal/guard", "TestTheCheckReadsAMarkWhereAMasterHasTheHistoryOfItsMarker"},
	},
	{
		name:    "an abstention that is told as a refusal",
		breaks:  "errors name why a master does not vote",
		edits:   []edit{{"internal/wire/result.go", "	case answer.Verdict == ballot.Failed: // whatever the reply said, if its master may not vote\n		return nil, answer.Err\n", ""}},
		foundBy: goTest{"./internal/wire", "TestAMasterThatMayNotVoteIsToldToAbstain"},
	},
}
