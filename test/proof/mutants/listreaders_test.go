package mutants

// ofReadersThatWait are mistakes about readers and writers that wake each other.
var ofReadersThatWait = []mutant{
	{
		name:    "readers that a writer's release does not wake",
		breaks:  "progress: all readers that wait are called by a writer's release",
		edits:   []edit{{"internal/script/phases.lua", "if after == 'writer' or after == nil and", "if after == nil and"}},
		foundBy: goTest{"./internal/script", "TestAWritersReleaseCallsAllReadersAndNoWriter"},
	},
	{
		name:    "a writer's release that wakes one reader of several",
		breaks:  "progress: all readers that wait are called by a writer's release",
		edits:   []edit{{"internal/script/phases.lua", "found = math.max(found, client == me and 2 or 1)", "do return 1 end"}},
		foundBy: goTest{"./internal/script", "TestAWritersReleaseCallsAllReadersAndNoWriter"},
	},
	{
		name:    "one reader of a client that is woken, of several",
		breaks:  "progress: all readers that wait are called by a writer's release",
		edits:   []edit{{"internal/waitqueue/reader.go", "	if w.counts.collisions == 0 {\n", "	if false {\n"}},
		foundBy: goTest{"./internal/waitqueue", "TestAllReadersOfALocalQueueTryInOneTurn"},
	},
	{
		name:    "readers that all try each time that the first does",
		breaks:  "who waits loads no master: where a pilot does not know what the others know, one reader tries",
		edits:   []edit{{"internal/waitqueue/reader.go", "	if w.counts.collisions == 0 {\n", "	if true {\n"}},
		foundBy: goTest{"./internal/waitqueue", "TestAllReadersOfALocalQueueTryInOneTurn"},
	},
	{
		name:    "readers that get in one by one where there is no pilot",
		breaks:  "progress: readers do not get in each other's way",
		edits:   []edit{{"internal/waitqueue/waiter.go", "	if w.state == acquired && w.want.Kind == wire.Reader {\n", "	if false {\n"}},
		foundBy: goTest{"./internal/waitqueue", "TestAllReadersOfALocalQueueTryInOneTurn"},
	},
	{
		name:    "a reader that does not see that others wait to read",
		breaks:  "who waits loads no master: one reader of a client looks",
		edits:   []edit{{"internal/waitqueue/localqueue.go", "want.Kind == wire.Reader && q.byKey[ReadersPrefix+key] != nil", "want.Kind == wire.Reader && false"}},
		foundBy: goTest{"./redlock", "TestAClientLooksOnceForEachKeyHoweverManyOfItsCallsWait"},
	},
	{
		name:    "a last reader that wakes no writer",
		breaks:  "progress: the last reader's release calls the writer that waits",
		edits:   []edit{{"internal/script/reader_handover.lua", "pcall(call_first, KEYS[1], queue, ARGV[3], after)", "pcall(call_readers, KEYS[1], queue, '')"}},
		foundBy: goTest{"./internal/script", "TestTheLastReaderAtTheMasterCallsTheFirstWriter"},
	},
	{
		name:    "two readers that release together, of whom the first calls",
		breaks:  "progress: it is the last reader's release that calls",
		edits:   []edit{{"internal/script/reader_handover.lua", "if redis.call('TYPE', KEYS[1])['ok'] ~= 'none' then return released end\n", ""}},
		foundBy: goTest{"./internal/script", "TestTheLastReaderAtTheMasterCallsTheFirstWriter"},
	},
	{
		name:    "a reader that overtakes a writer that waits",
		breaks:  "fairness: readers that come behind a writer wait for it",
		edits:   []edit{{"internal/script/readers_queue.lua", "go = called or not kept", "go = true"}},
		foundBy: goTest{"./internal/script", "TestTheLastReaderAtTheMasterCallsTheFirstWriter"},
	},
	{
		name:    "a reader that nobody has called, and that passes writers",
		breaks:  "fairness: readers that come behind a writer wait for it",
		edits:   []edit{{"internal/wire/questions.go", "a.acquireReader(c, s, t.Called)", "a.acquireReader(c, s, true)"}},
		foundBy: goTest{"./redlock", "TestAWaitingWriterKeepsNewReadersOutAndRenewsNone"},
	},
	{
		name:    "readers that follow readers",
		breaks:  "fairness: a writer that waits elsewhere keeps readers out",
		edits:   []edit{{"internal/script/phases.lua", " or after == 'kept' then return successor end", " then return successor end"}},
		foundBy: goTest{"./internal/script", "TestReadersDoNotFollowReadersWhileAWriterIsNoted"},
	},
	{
		name:    "a reader that is in, and still called",
		breaks:  "progress: the last reader's release waits for nobody who has come",
		edits:   []edit{{"internal/script/readers_queue.lua", "if ARGV[1] == 'leave' then\n  redis.call('ZREM', readers, me)\n", "if ARGV[1] == 'leave' then\n"}},
		foundBy: goTest{"./internal/script", "TestAReaderThatHasComeTakesItsMarkWithIt"},
	},
	{
		name:    "a writer that gives up in silence",
		breaks:  "progress: readers that it kept out are called",
		edits:   []edit{{"internal/hold/intent.go", "if i.withdraw() {", "if i.withdraw() && false {"}},
		foundBy: goTest{"./redlock", "TestAWriterThatGivesUpWakesTheReadersThatItKeptOut"},
	},
	{
		name:    "a client that overtakes those whom its release has called",
		breaks:  "fairness: phases of readers and writers alternate",
		edits:   []edit{{"internal/waitqueue/room.go", "\t\tr.recent.note(key, true)\n", ""}},
		foundBy: goTest{"./internal/waitqueue", "TestReleaseWakesOnlyTheClientThatItWasHandedTo"},
	},
	{
		name:    "a reader that leaves, and stays",
		breaks:  "every place in a queue is left when a call ends",
		edits:   []edit{{"internal/script/readers_queue.lua", "call_first(lock, queue, '', kept and 'kept' or nil) end -- it asks", "call_first(lock, queue, me, kept and 'kept' or nil, true) end -- it asks"}},
		foundBy: goTest{"./internal/script", "TestAReaderThatLeavesWhileOthersAreCalledLeavesNoEntry"},
	},
	{
		name:    "joined releases that wake no readers where no writer waits",
		breaks:  "progress: all readers that wait are called by a writer's release",
		edits:   []edit{{"internal/script/releasebatch.lua", "names[#queues + i] = queue .. ':readers' end", "names[#queues + i] = queue end"}},
		foundBy: goTest{"./internal/script", "TestJoinedReleasesHandOver"},
	},
	{
		name:    "a joined release that names another lock",
		breaks:  "progress: whoever waits for a lock is told of that lock",
		edits:   []edit{{"internal/script/releasebatch.lua", "pcall(call_first, KEYS[i], queue,", "pcall(call_first, KEYS[1], queue,"}},
		foundBy: goTest{"./internal/script", "TestJoinedReleasesHandOver"},
	},
	{
		name:    "the release of a set that calls whoever waits longest",
		breaks:  "fairness: phases of readers and writers alternate",
		edits:   []edit{{"internal/script/releaseset.lua", "ARGV[2], 'writer')", "ARGV[2])"}},
		foundBy: goTest{"./internal/script", "TestTheReleaseOfASetHandsOverWhatIsFree"},
	},
}
