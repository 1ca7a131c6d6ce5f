package mutants

// ofReadersThatWait are mistakes about readers and writers that wake each other.
var ofReadersThatWait = []mutant{
	{
		name:    "a writer's release wakes the next writer before the readers",
		breaks:  "progress: a writer's release wakes all waiting readers",
		edits:   []edit{{"internal/script/phases.lua", "if after == 'writer' or after == nil and", "if after == nil and"}},
		foundBy: goTest{"./internal/script", "TestAWritersReleaseCallsAllReadersAndNoWriter"},
	},
	{
		name:    "a writer's release wakes only one waiting reader",
		breaks:  "progress: a writer's release wakes all waiting readers",
		edits:   []edit{{"internal/script/phases.lua", "found = math.max(found, client == me and 2 or 1)", "do return 1 end"}},
		foundBy: goTest{"./internal/script", "TestAWritersReleaseCallsAllReadersAndNoWriter"},
	},
	{
		name:    "only the first reader of a client tries when woken",
		breaks:  "progress: a writer's release wakes all waiting readers",
		edits:   []edit{{"internal/waitqueue/reader.go", "	if w.counts.collisions == 0 {\n", "	if false {\n"}},
		foundBy: goTest{"./internal/waitqueue", "TestAllReadersOfALocalQueueTryInOneTurn"},
	},
	{
		name:    "all readers of a client try again after a failed turn",
		breaks:  "waiters do not load the masters: after a failed turn only one reader of a client tries at first",
		edits:   []edit{{"internal/waitqueue/reader.go", "	if w.counts.collisions == 0 {\n", "	if true {\n"}},
		foundBy: goTest{"./internal/waitqueue", "TestAllReadersOfALocalQueueTryInOneTurn"},
	},
	{
		name:    "a reader that gets the lock does not let its client's readers in",
		breaks:  "progress: readers do not wait for each other",
		edits:   []edit{{"internal/waitqueue/waiter.go", "	if w.state == acquired && w.want.Kind == wire.Reader {\n", "	if false {\n"}},
		foundBy: goTest{"./internal/waitqueue", "TestAllReadersOfALocalQueueTryInOneTurn"},
	},
	{
		name:    "a reader does not notice that readers of its client wait",
		breaks:  "waiters do not load the masters: only one reader of a client asks the pilot",
		edits:   []edit{{"internal/waitqueue/localqueue.go", "want.Kind == wire.Reader && q.byKey[ReadersPrefix+key] != nil", "want.Kind == wire.Reader && false"}},
		foundBy: goTest{"./redlock", "TestAClientLooksOnceForEachKeyHoweverManyOfItsCallsWait"},
	},
	{
		name:    "the last reader's release wakes no writer",
		breaks:  "progress: the last reader's release wakes the waiting writer",
		edits:   []edit{{"internal/script/reader_handover.lua", "pcall(call_first, KEYS[1], queue, ARGV[3], after)", "pcall(call_readers, KEYS[1], queue, '')"}},
		foundBy: goTest{"./internal/script", "TestTheLastReaderAtTheMasterCallsTheFirstWriter"},
	},
	{
		name:    "a reader's release wakes a writer while other readers remain",
		breaks:  "progress: only the last reader's release wakes the next waiter",
		edits:   []edit{{"internal/script/reader_handover.lua", "if redis.call('TYPE', KEYS[1])['ok'] ~= 'none' then return released end\n", ""}},
		foundBy: goTest{"./internal/script", "TestTheLastReaderAtTheMasterCallsTheFirstWriter"},
	},
	{
		name:    "the pilot lets a new reader overtake a waiting writer",
		breaks:  "fairness: a reader that comes after a waiting writer waits for it",
		edits:   []edit{{"internal/script/readers_queue.lua", "go = called or not kept", "go = true"}},
		foundBy: goTest{"./internal/script", "TestTheLastReaderAtTheMasterCallsTheFirstWriter"},
	},
	{
		name:    "a reader that was not woken ignores waiting writers",
		breaks:  "fairness: a reader that comes after a waiting writer waits for it",
		edits:   []edit{{"internal/wire/questions.go", "a.acquireReader(c, s, t.Called)", "a.acquireReader(c, s, true)"}},
		foundBy: goTest{"./redlock", "TestAWaitingWriterKeepsNewReadersOutAndRenewsNone"},
	},
	{
		name:    "readers are woken after readers although a writer waits elsewhere",
		breaks:  "fairness: a writer that waits elsewhere keeps new readers out",
		edits:   []edit{{"internal/script/phases.lua", " or after == 'kept' then return successor end", " then return successor end"}},
		foundBy: goTest{"./internal/script", "TestReadersDoNotFollowReadersWhileAWriterIsNoted"},
	},
	{
		name:    "a reader that has the lock keeps its mark in the queue",
		breaks:  "progress: a hand-over does not wait for a reader that already has the lock",
		edits:   []edit{{"internal/script/readers_queue.lua", "if ARGV[1] == 'leave' then\n  redis.call('ZREM', readers, me)\n", "if ARGV[1] == 'leave' then\n"}},
		foundBy: goTest{"./internal/script", "TestAReaderThatHasComeTakesItsMarkWithIt"},
	},
	{
		name:    "a writer that gives up wakes no readers",
		breaks:  "progress: a writer that gives up wakes the readers that it kept out",
		edits:   []edit{{"internal/hold/intent.go", "if i.withdraw() {", "if i.withdraw() && false {"}},
		foundBy: goTest{"./redlock", "TestAWriterThatGivesUpWakesTheReadersThatItKeptOut"},
	},
	{
		name:    "a client does not note that its release woke another client",
		breaks:  "fairness: a client's next call comes after the client that its release woke",
		edits:   []edit{{"internal/waitqueue/room.go", "\t\tr.recent.note(key, true)\n", ""}},
		foundBy: goTest{"./internal/waitqueue", "TestReleaseWakesOnlyTheClientThatItWasHandedTo"},
	},
	{
		name:    "a reader that leaves the queue is entered again as woken",
		breaks:  "a call that ends leaves no entry in a queue",
		edits:   []edit{{"internal/script/readers_queue.lua", "call_first(lock, queue, '', kept and 'kept' or nil) end -- it asks", "call_first(lock, queue, me, kept and 'kept' or nil, true) end -- it asks"}},
		foundBy: goTest{"./internal/script", "TestAReaderThatLeavesWhileOthersAreCalledLeavesNoEntry"},
	},
	{
		name:    "batched releases wake no readers if no writer waits",
		breaks:  "progress: a writer's release wakes all waiting readers",
		edits:   []edit{{"internal/script/releasebatch.lua", "names[#queues + i] = queue .. ':readers' end", "names[#queues + i] = queue end"}},
		foundBy: goTest{"./internal/script", "TestJoinedReleasesHandOver"},
	},
	{
		name:    "batched releases name the first lock to all waiters",
		breaks:  "progress: a wake names the lock for which its client waits",
		edits:   []edit{{"internal/script/releasebatch.lua", "pcall(call_first, KEYS[i], queue,", "pcall(call_first, KEYS[1], queue,"}},
		foundBy: goTest{"./internal/script", "TestJoinedReleasesHandOver"},
	},
	{
		name:    "a set's release wakes the longest waiter instead of the readers",
		breaks:  "fairness: phases of readers and writers alternate",
		edits:   []edit{{"internal/script/releaseset.lua", "ARGV[2], 'writer')", "ARGV[2])"}},
		foundBy: goTest{"./internal/script", "TestTheReleaseOfASetHandsOverWhatIsFree"},
	},
}
