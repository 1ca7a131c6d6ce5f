package mutants

import "github.com/redquorum/redquorum/test/proof/history"

// ofListeners are mistakes about what may wait for code of users, clocks and mutexes.
var ofListeners = []mutant{
	{
		name:   "a hold by a reading of the clock from before the trace",
		breaks: "S7: the holder hears of the end before a quorum can give the key away",
		edits: []edit{
			{"internal/hold/attempt.go", "h.manager.renewer.add(h)", "h.manager.renewer.add(h, now)"},
			{"internal/hold/renewer.go", "func (k *renewer) add(h *Hold) bool {", "func (k *renewer) add(h *Hold, instant drift.Instant) bool {"},
			{"internal/hold/renewer.go", "	now, instant := k.now(), k.manager.now()\n	validity := ", "	now := k.now()\n	validity := "},
		},
		foundBy: goTest{"./redlock", "TestALockEndsInTimeHoweverLongATraceTakesWhileItIsAcquired"},
	},
	{
		name:    "the library's clock read before Go's",
		breaks:  "S7: a pause between two readings lengthens no hold",
		edits:   []edit{{"internal/hold/renewer.go", "	now, instant := k.now(), k.manager.now()\n	validity := ", "	instant := k.manager.now()\n	now := k.now()\n	validity := "}},
		foundBy: goTest{"./internal/hold", "TestAPauseBetweenTheReadingsOfTwoClocksLengthensNoHold"},
	},
	{
		name:   "a trace that hears of a hold before it is one",
		breaks: "S1: what a trace has released is not brought back",
		edits: []edit{
			{"internal/hold/attempt.go", "	if settled = h.manager.renewer.add(h); settled {\n		h.reportHeld()\n	}\n", "	h.reportHeld()\n	settled = h.manager.renewer.add(h)\n"},
			{"internal/hold/renewer.go", "h.life.state, h.life.heldPending = held, true", "h.life.state, h.life.heldPending = held, false"},
			{"internal/hold/renewer.go", "h.life.state != trying || ", ""},
		},
		foundBy: goTest{"./redlock", "TestALockMayBeEndedFromInsideTheTraceThatHearsOfIt"},
	},
	{
		name:   "a lock that Trace.Held gives back, and that goes on",
		breaks: "S1: what a trace has released is not brought back",
		edits: []edit{
			{"internal/hold/attempt.go", "	if settled = h.manager.renewer.add(h); settled {\n		h.reportHeld()\n	}\n", "	h.reportHeld()\n	settled = h.manager.renewer.add(h)\n"},
			{"internal/hold/renewer.go", "h.life.state, h.life.heldPending = held, true", "h.life.state, h.life.heldPending = held, false"},
			{"internal/hold/renewer.go", "h.life.state != trying || ", ""},
		},
		foundBy: simulation{"users", history.Undone, 40},
	},
	{
		name:   "an extension that reads a hold's TTL without its mutex",
		breaks: "one mutex guards what a hold is",
		edits: []edit{
			{"internal/hold/extend.go", "	limit := min(h.manager.AnswerTimeout(h.claim.TTL), h.life.remaining(now))\n", "	left := h.life.remaining(now)\n"},
			{"internal/hold/extend.go", "ask.Wait(ctx, limit)", "ask.Wait(ctx, min(h.manager.AnswerTimeout(h.claim.TTL), left))"},
		},
		foundBy: goTest{race + "./redlock", "TestAHoldMayBeSharedByManyGoroutines"},
	},
	{
		name:    "errors that do not say that a context is over",
		breaks:  "a call whose context is over says so",
		edits:   []edit{{"redlock/wait.go", "endedBy(caller, endedBy(ctx, err))", "err"}, {"redlock/wait.go", "	caller, tries := ctx, int(", "	tries := int("}},
		foundBy: simulation{"users", history.Unheard, 40},
	},
	{
		name:    "a call that does not wait and has a patience for each question",
		breaks:  "L3: such a call takes the masters' timeout at the most",
		edits:   []edit{{"internal/hold/attempt.go", "if !a.until.IsZero() {", "if false {"}},
		foundBy: simulation{"users", history.Unbounded, 40},
	},
	{
		name:    "an adoption with a patience for each question",
		breaks:  "L3: an adoption takes the masters' timeout at the most",
		edits:   []edit{{"internal/hold/adopt.go", "time.Now().Add(n.hold", "time.Now().Add(time.Hour + n.hold"}},
		foundBy: simulation{"adoptions", history.Unbounded, 40},
	},
	{
		name:    "a hold that begins again when it is over",
		breaks:  "S1: what was released is not held",
		edits:   []edit{{"internal/hold/renewer.go", "h.life.state != trying || ", ""}},
		foundBy: goTest{"./internal/hold", "TestOnlyAnAttemptThatIsNotOverBecomesAHold"},
	},
	{
		name:    "an end that is told before the beginning",
		breaks:  "a trace hears of each hold's beginning and then of its end",
		edits:   []edit{{"internal/hold/renewer.go", "h.life.state, h.life.heldPending = held, true", "h.life.state, h.life.heldPending = held, false"}},
		foundBy: goTest{"./redlock", "TestALockMayBeEndedFromInsideTheTraceThatHearsOfIt"},
	},
	{
		name:   "a clock that is read before the mutex is there",
		breaks: "S7: who decides by the clock decides by the present",
		edits: []edit{{"internal/hold/handle.go", `	h.mu.Lock()
	defer h.mu.Unlock()
	if n.returned {
		return 0
	}
	return h.life.remaining(h.manager.now())
`, `	now := h.manager.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if n.returned {
		return 0
	}
	return h.life.remaining(now)
`}},
		foundBy: goTest{"./internal/hold", "TestDecisionsReadTheClockUnderTheMutex"},
	},
	{
		name:   "a context that ends by a clock from before the mutex",
		breaks: "S7: who decides by the clock decides by the present",
		edits: []edit{
			{"internal/hold/handle.go", "	h.mu.Lock()\n	p := c.handle.overNow()\n", "	now := h.manager.now()\n	h.mu.Lock()\n	h.expire(now)\n	p := c.handle.unusable()\n"},
		},
		foundBy: goTest{"./internal/hold", "TestDecisionsReadTheClockUnderTheMutex"},
	},
	{
		name:    "contexts that the renewer ends itself, under the mutex",
		breaks:  "S7: no lock ends late because of another",
		edits:   []edit{{"internal/hold/handle.go", "n.hold.manager.ending.Go(n.ctx.end)", "n.ctx.cancel(n.hold.life.loss.Cause)"}},
		foundBy: goTest{"./internal/hold", "TestTheContextOfALockEndsBesideOneWithManyDerivedContexts"},
	},
	{
		name:    "a release that is queued before the context has ended",
		breaks:  "S7: the holder hears of the end before a quorum can give the key away",
		edits:   []edit{{"internal/hold/release.go", "		c.end()\n", "		defer c.end()\n"}},
		foundBy: goTest{"./internal/hold", "TestReleaseIsSentOnlyAfterTheContextEnded"},
	},
	{
		name:    "a function that runs under a lock that is over",
		breaks:  "Do runs its function under the lock or not at all",
		edits:   []edit{{"redlock/do.go", "held.Err() != nil {", "held == nil {"}},
		foundBy: goTest{"./redlock", "TestAFunctionDoesNotRunUnderALockThatIsOver"},
	},
	{
		name:    "a loss that whoever notices it tells",
		breaks:  "S7: the renewer waits for nobody",
		edits:   []edit{{"internal/deliver/deliver.go", "func (d *Deliverer) Always(call func()) { d.put(entry{call, true}) }", "func (d *Deliverer) Always(call func()) { call() }"}},
		foundBy: goTest{"./redlock", "TestAListenerThatBlocksTakesNoLockFromItsHolder"},
	},
	{
		name:    "a renewal that the renewer tells itself",
		breaks:  "S7: the renewer waits for nobody",
		edits:   []edit{{"internal/hold/renew.go", "h.report(h.manager.cfg.Deliverer.Put, report)", "h.report(func(f func()) { f() }, report)"}},
		foundBy: goTest{"./redlock", "TestAListenerThatBlocksTakesNoLockFromItsHolder"},
	},
	{
		name:    "a log line that is written where it comes from",
		breaks:  "L3: nothing waits for the code of users",
		edits:   []edit{{"internal/deliver/log.go", "	d.Put(func() { d.log.handle(r) })\n", "	d.log.handle(r)\n"}},
		foundBy: goTest{"./redlock", "TestALogHandlerThatBlocksKeepsNoMasterAway"},
	},
}
