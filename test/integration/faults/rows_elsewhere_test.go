package faults

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	ofIntegration = ".."
	ofPipeline    = "../../../internal/pipeline"
	ofRedlock     = "../../../redlock"
	ofHold        = "../../../internal/hold"
	ofWire        = "../../../internal/wire"
	ofScript      = "../../../internal/script"
	ofGuard       = "../../../internal/guard"
	ofVoters      = "../../../internal/voters"
	ofSimulation  = "../../proof/sim" // rows name profiles of it
)

// elsewhereRows are checked in full by tests that start their own masters, or simulate them. Each
// row names those tests.
func elsewhereRows() []row {
	return []row{
		elsewhereRow("RST in mid-reply, truncated reply, RESP garbage, `$2147483647`, deep nesting",
			"never a panic, bounded memory; the connection is closed", ofPipeline,
			"TestAHostileReplyCostsAConnectionAndNoVote", "TestAReplyThatEndsWithTheConnectionIsNoVote",
			"TestCallsAreCompletedExactlyOnceWhateverTheServerDoes", "TestRedigoParsesWhatTheFramerAccepts", "TestTheFramerRefusesHostileReplies"),
		elsewhereRow("wrong type, nil, `:2`, instead of the answer to an acquisition",
			"never a vote", ofWire, "TestRepliesToAcquisitionsAreReadStrictly", "TestRepliesOfHolderAmongAreReadStrictly"),
		elsewhereRow("OOM, NOREPLICAS, MISCONF, LOADING, BUSY, READONLY",
			"no vote, the reply is named in the error; a release is still tried; never SCRIPT KILL", ofIntegration,
			"TestAMasterThatRefusesToWriteHasNoVoteAndIsNamed", "TestLoadingMastersDoNotVoteAndReleasesAreSentUntilTheyHaveLoaded"),
		elsewhereRow("wrong password, no permission, wrong database, TLS required, wrong CA",
			"a configuration error for each master, named; goes on if a quorum is left", ofIntegration,
			"TestMisconfiguredMastersAreNamedAndTheOthersGoOn"),
		elsewhereRow("an ACL user without one of the commands that a lock needs, for each of them; rename-command", "no vote on that lock, the command is named; with the documented permissions all votes",
			ofIntegration, "TestAMasterThatRefusesACommandOfEveryLockDoesNotVote", "TestAMasterThatRefusesACommandDoesNotVoteOnTheLocksThatNeedIt", "TestAMasterWithACommandRenamedAwayDoesNotVote", "TestEveryKindOfLockNeedsExactlyThesePermissions"),
		elsewhereRow("an ACL user who may write keys and not read them", "nothing is set, and the error says why", ofIntegration, "TestUserWithoutReadPermissionSetsNoLock"),
		elsewhereRow("client frozen longer than its TTL before an attempt is decided",
			"the attempt fails", ofRedlock, "TestAQuorumWithoutValidityLeftIsNoQuorum"),
		elsewhereRow("SCRIPT FLUSH",
			"one fallback to EVAL for each script; one vote, one token", ofIntegration, "TestAFlushOfTheScriptsCostsOneFallbackEach"),
		elsewhereRow("the pilot of a key is slow and is cut off for 30 ms again and again, a fair waiter in its queue",
			"served in its turn", ofRedlock, "TestAFairWaiterWhosePilotIsCutOffAgainAndAgainIsServedInItsTurn"),
		elsewhereRow("the pilot forbids its queue for a moment",
			"who waits is back in its queue within seconds", ofRedlock, "TestAPilotThatRefusedItsQueueIsAskedAgainASecondLater"),
		elsewhereRow("the pilot's clock is set back by an hour after a client was called and died",
			"a free lock is had within a second, fair or not", ofScript, "TestAMarkFurtherAheadThanItsGraceDoesNotCount", "TestAPlaceInTheFutureCountsAsNow"),
		elsewhereRow("masters' clocks are set back while readers hold a lock, or after one crashed",
			"no writer gets in beside a reader that is alive; one that crashed is out after MaxTTL", ofRedlock,
			"TestNoWriterGetsInBesideAReaderWhoseMastersClocksWereSetBack", "TestAReaderThatCrashedIsOutAfterTheLongestTTLThoughClocksWereSetBack"),
		elsewhereRow("strict, locks of 1, 2, 3 and 5 s on one key, clocks at both ends of S",
			"never two", ofIntegration, "TestStrictLocksWithDifferentTTLsNeverOverlap"),
		elsewhereRow("maxmemory below what is used, while plain, fenced, strict, reader and set locks are held, across a redial",
			"all are held; no new ones", ofIntegration, "TestFullMastersKeepHeldLocks"),
		elsewhereRow("every answer 150, 350, 600, 900 ms late, for three TTLs",
			"held locks stay held", ofRedlock, "TestLateAnswersLoseNoLock"),
		elsewhereRow("twenty busy goroutines on one processor; all masters silent for 6 s",
			"held locks stay held", ofIntegration, "TestABusyProcessorLosesNoLock", "TestMastersThatAreAllSilentForSixSecondsLoseNoLock"),
		elsewhereRow("a stale replica of a master is cut off, the master resynchronises from it and becomes a master again",
			"no vote from the first flush on, on living and on new connections, standard and strict; abstains for Q; one holder", ofIntegration,
			"TestAMasterResynchronisedFromItsStaleReplicaGrantsNothingTwice"),
		elsewhereRow("FLUSHALL on all masters, or restarts without data 0, 200, 500 ms apart, while two clients live and one holds; then init",
			"nobody else is granted the lock while it is valid; init refuses; the fleet votes after Q", ofIntegration,
			"TestAnEmptiedFleetIsNotTakenForNewWhileItsClientsLive"),
		elsewhereRow("the marker of a master that was emptied is restored into the running process",
			"it abstains for Q, and says why", ofIntegration, "TestRestoredMarkerDoesNotRestoreTheVote"),
		elsewhereRow("40 processes start at once on a new fleet, and share two processors",
			"all have their lock in seconds, no master is in quarantine", ofIntegration,
			"TestManyProcessesThatStartAtOnceDeclareANewFleet"),
		elsewhereRow("a first replica attaches, a backlog is freed, REPLICAOF to a dead host and back",
			"the master abstains for Q though nothing was lost", ofIntegration,
			"TestAChangeOfTheReplicationHistoryCostsAQuarantineThoughNothingIsLost"),
		elsewhereRow("CONFIG SET maxmemory-policy on a living connection",
			"its vote is gone with the next look, 5 s later at the most; back when it is mended, after a quarantine where keys were evicted", ofIntegration,
			"TestAMasterThatIsReconfiguredLosesItsVoteOnTheLivingConnection").and(ofGuard, "TestAMasterThatHasEvictedKeysIsQuarantined"),
		elsewhereRow("a new fleet with one master down, or two of five emptied, and callers that live for 100 ms",
			"refused with the reason of each master, then served Q after the first of them", ofIntegration,
			"TestShortLivedCallersGetALockAfterTheQuarantine"),
		elsewhereRow("clients with lists of one and of three masters, or of three and of seven; also where some of these are away, or an init --force has reached some only",
			"no vote for the later one; nobody is held twice", ofIntegration,
			"TestListsOfDifferentLengthsDoNotBothHaveAQuorum", "TestListsOfDifferentLengthsDoNotBothHaveAQuorumWhereSomeMastersAreAway", "TestAListThatGrowsByHalfDoesNotGetAQuorumBesideTheOldOne"),
		elsewhereRow("a master of five is restarted empty while a client with a list of one passes by",
			"it stays a master of five", ofIntegration, "TestAPassingClientDoesNotTakeARestartedMasterAwayFromItsFleet"),
		elsewhereRow("init --force with a shorter MaxTTL beside a holder",
			"nobody gets the lock before the longer MaxTTL is over", ofIntegration, "TestForcedInitWithAShorterMaxTTLWaitsForEarlierHolders"),
		elsewhereRow("a master is emptied with a clock an hour slow, which is then set right",
			"it abstains for Q by the client's clock", ofGuard, "TestAgeIsBoundedByOurWallClockUnlessThatIsBehind", "TestASightingIsAsOldAsTheYoungerOfBothClocksSays"),
		elsewhereRow("members of a Redis Cluster, a Sentinel's port, given as masters",
			"refused by name, at once", ofIntegration, "TestFirstLockAndReadyNameUnfitMasters", "TestLockNamesSentinelsAndClusterMembersWithoutWaiting"),
		elsewhereRow("two, then ten clients adopt one token, at once and in turn, over connections that are cut meanwhile",
			"at most one holds; nobody gets in beside it; what is left expires by its TTL", ofIntegration,
			"TestAtMostOneAdopterOfATokenHolds"),
		elsewhereRow("MISCONF, READONLY, BUSY, NOREPLICAS, NOPERM, MASTERDOWN on all masters at Unlock, for 5 s; and while locks are tried without pause",
			"the unlock says so at once; the key is free a moment after the masters write again; no queue fills", ofIntegration,
			"TestRefusedReleaseIsSentAgainUntilItSucceeds", "TestCloseSendsRefusedReleasesOnceMore").
			and(ofWire, "TestAMasterThatRefusesToWriteHasNothingToRelease").and(ofPipeline, "TestPostponedCallsTakeHalfOfTheQueueAtMost"),
		elsewhereRow("each function of a Trace, and Logger.Enabled, blocks or sleeps; Close from inside one",
			"every context ends in its time, other locks are renewed, masters are dialled again; Close returns", ofRedlock,
			"TestAListenerThatBlocksTakesNoLockFromItsHolder", "TestABlockingLoggerEnabledLosesNoLock", "TestALogHandlerThatBlocksKeepsNoMasterAway",
			"TestALockEndsInTimeHoweverLongATraceTakesWhileItIsAcquired", "TestCloseReturnsFromInsideAListener", "TestCloseDoesNotWaitForAListenerThatBlocks"),
		elsewhereRow("exec --verbose loses its lock, and nobody reads its standard error",
			"the command gets its SIGTERM in time", ofCommand, "TestALossEndsTheCommandWhereNobodyReadsTheStandardError"),
		elsewhereRow("Unlock, HandOver, Close in Trace.Held, or on a goroutine that it starts; the lock's lease ends before Do or Lead starts its function",
			"the lock is over and stays so; the function does not run", ofRedlock,
			"TestALockMayBeEndedFromInsideTheTraceThatHearsOfIt", "TestAFunctionDoesNotRunUnderALockThatIsOver", "TestLeadReturnsWhenATraceHasUnlockedItsLock"),
		elsewhereRow("100,000 contexts derived from a lock that is lost; clocks that are read while a mutex is waited for",
			"another lock's context, Err and Remaining are in time", ofHold,
			"TestTheContextOfALockEndsBesideOneWithManyDerivedContexts", "TestDecisionsReadTheClockUnderTheMutex"),
		elsewhereRow("the answers to a release are lost with their connections",
			"released, not lost", ofRedlock, "TestAReleaseWhoseAnswersAreLostWithTheirConnectionsIsNoLoss"),
		elsewhereRow("an outage of 0.3 to 2.9 s ends while Lock waits",
			"had soon after it; not refused for an outage that is over", ofRedlock, "TestALockIsHadSoonAfterAnOutage"),
		elsewhereRow("a master is cut off from its Sentinel, which promotes the replica, and a client keeps its connection",
			"without min-replicas-to-write not excluded; with it nobody is held twice", ofIntegration,
			"TestAnOldMasterBehindASentinelGrantsNothingBesideTheNewOne"),
		elsewhereRow("a storm for three permits: calls are cancelled, clients closed, masters frozen and killed",
			"never more than three holders", ofIntegration, "TestAStormAdmitsNoMoreHoldersThanPermits"),
		elsewhereRow("another Redlock client (redsync) on the same keys",
			"never both", ofIntegration, "TestRedsyncAndRedquorumExcludeEachOther"),
	}
}

func elsewhereRow(fault, expect, dir string, tests ...string) row {
	return row{fault: fault, expect: expect}.and(dir, tests...)
}

// and adds tests of another package.
func (w row) and(dir string, tests ...string) row {
	w.others = append(w.others, others{dir, tests})
	return w
}

// others are tests of another package, or profiles of the simulation.
type others struct {
	dir   string
	tests []string
}

// byOthers is the result of a row that other tests check. They run with their own packages, and
// not once more here.
const byOthers = "by other tests"

// This test runs on every commit, unlike the matrix.
func TestRowsNameExistingTests(t *testing.T) {
	for _, w := range matrix() {
		w.namesOfOthers(t)
	}
}

// tryElsewhere checks that the tests that a row names exist.
func tryElsewhere(t *testing.T, w row) {
	entry := table.entry(w)
	names := w.namesOfOthers(t)
	if !t.Failed() {
		entry.measured(0, 0, 0, strings.Join(names, ", "))
		entry.became(byOthers)
	}
}

// namesOfOthers returns the names of the tests that check a row elsewhere. The test fails if one
// does not exist.
func (w row) namesOfOthers(t *testing.T) (names []string) {
	for _, by := range w.others {
		files, err := filepath.Glob(filepath.Join(by.dir, "*.go"))
		var code []byte
		for _, file := range files {
			text, unread := os.ReadFile(file)
			code, err = append(code, text...), errors.Join(err, unread)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range by.tests {
			declaration := "\nfunc " + name + "(t *testing.T) {\n"
			if by.dir == ofSimulation {
				declaration, name = "\n\t{\""+name+"\", func(p *Profile", "profile "+name+" of the simulation"
			}
			if !bytes.Contains(code, []byte(declaration)) {
				t.Errorf("%s: there is no %s in %s", w.fault, name, by.dir)
			}
			names = append(names, name)
		}
	}
	return names
}
