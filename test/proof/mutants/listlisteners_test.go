package mutants

import "github.com/redquorum/redquorum/test/proof/history"

// ofListeners are mistakes about what may wait for code of users, clocks and mutexes.
var ofListeners = []mutant{
	{
		name:   "a hold begins by a clock reading taken before the trace ran",
		breaks: "S7: the holder is told of the end before a quorum can grant the key again",
		edits: []edit{
			{"internal/hold/attempt.go", "h.manager.renewer.add(h)", "h.manager.renewer.add(h, now)"},
			{"internal/hold/renewer.go", "func (k *renewer) add(h *Hold) bool {", "func (k *renewer) add(h *Hold, instant drift.Instant) bool {"},
			{"internal/hold/renewer.go", "	now, instant := k.now(), k.manager.now()\n	validity := ", "	now := k.now()\n	validity := "},
		},
		foundBy: goTest{"./redlock", "TestALockEndsInTimeHoweverLongATraceTakesWhileItIsAcquired"},
	},
	{
		name:    "the library's clock is read before Go's clock",
		breaks:  "S7: a pause between two clock readings does not lengthen a hold",
		edits:   []edit{{"internal/hold/renewer.go", "	now, instant := k.now(), k.manager.now()\n	validity := ", "	instant := k.manager.now()\n	now := k.now()\n	validity := "}},
		foundBy: goTest{"./internal/hold", "TestAPauseBetweenTheReadingsOfTwoClocksLengthensNoHold"},
	},
	{
		name:   "the trace is told of a hold before the renewer accepts it",
		breaks: "S1: a lock that a trace has released is not held again",
		edits: []edit{
			{"internal/hold/attempt.go", "	if settled = h.manager.renewer.add(h); settled {\n		h.reportHeld()\n	}\n", "	h.reportHeld()\n	settled = h.manager.renewer.add(h)\n"},
			{"internal/hold/renewer.go", "h.life.state, h.life.heldPending = held, true", "h.life.state, h.life.heldPending = held, false"},
			{"internal/hold/renewer.go", "h.life.state != trying || ", ""},
		},
		foundBy: goTest{"./redlock", "TestALockMayBeEndedFromInsideTheTraceThatHearsOfIt"},
	},
	{
		name:   "a lock that the trace has unlocked is held again",
		breaks: "S1: a lock that a trace has released is not held again",
		edits: []edit{
			{"internal/hold/attempt.go", "	if settled = h.manager.renewer.add(h); settled {\n		h.reportHeld()\n	}\n", "	h.reportHeld()\n	settled = h.manager.renewer.add(h)\n"},
			{"internal/hold/renewer.go", "h.life.state, h.life.heldPending = held, true", "h.life.state, h.life.heldPending = held, false"},
			{"internal/hold/renewer.go", "h.life.state != trying || ", ""},
		},
		foundBy: simulation{"users", history.Undone, 40},
	},
	{
		name:   "an extension reads the TTL without the hold's mutex",
		breaks: "the hold's mutex guards its fields",
		edits: []edit{
			{"internal/hold/extend.go", "	limit := min(h.manager.AnswerTimeout(h.claim.TTL), h.life.remaining(now))\n", "	left := h.life.remaining(now)\n"},
			{"internal/hold/extend.go", "ask.Wait(ctx, limit)", "ask.Wait(ctx, min(h.manager.AnswerTimeout(h.claim.TTL), left))"},
		},
		foundBy: goTest{race + "./redlock", "TestAHoldMayBeSharedByManyGoroutines"},
	},
	{
		name:    "Lock's errors do not say that a context has ended",
		breaks:  "the error of a call whose context has ended says so",
		edits:   []edit{{"redlock/wait.go", "endedBy(caller, endedBy(ctx, err))", "err"}, {"redlock/wait.go", "	caller, tries := ctx, int(", "	tries := int("}},
		foundBy: simulation{"users", history.Unheard, 40},
	},
	{
		name:    "each round of a TryLock call has the whole time-out",
		breaks:  "L3: a TryLock call takes at most the masters' time-out",
		edits:   []edit{{"internal/hold/attempt.go", "if !a.until.IsZero() {", "if false {"}},
		foundBy: simulation{"users", history.Unbounded, 40},
	},
	{
		name:    "each round of an Adopt call has the whole time-out",
		breaks:  "L3: an Adopt call takes at most the masters' time-out",
		edits:   []edit{{"internal/hold/adopt.go", "time.Now().Add(n.hold", "time.Now().Add(time.Hour + n.hold"}},
		foundBy: simulation{"adoptions", history.Unbounded, 40},
	},
	{
		name:    "a hold that has ended begins again",
		breaks:  "S1: a lock that was released is not held",
		edits:   []edit{{"internal/hold/renewer.go", "h.life.state != trying || ", ""}},
		foundBy: goTest{"./internal/hold", "TestOnlyAnAttemptThatIsNotOverBecomesAHold"},
	},
	{
		name:    "the end of a hold is reported before its beginning",
		breaks:  "a trace is told of each hold's beginning, and then of its end",
		edits:   []edit{{"internal/hold/renewer.go", "h.life.state, h.life.heldPending = held, true", "h.life.state, h.life.heldPending = held, false"}},
		foundBy: goTest{"./redlock", "TestALockMayBeEndedFromInsideTheTraceThatHearsOfIt"},
	},
	{
		name:   "Remaining reads the clock before it has the mutex",
		breaks: "S7: the clock is read under the mutex, so that a decision uses the present time",
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
		name:   "a context reads the clock before it has the mutex",
		breaks: "S7: the clock is read under the mutex, so that a decision uses the present time",
		edits: []edit{
			{"internal/hold/handle.go", "	h.mu.Lock()\n	p := c.handle.overNow()\n", "	now := h.manager.now()\n	h.mu.Lock()\n	h.expire(now)\n	p := c.handle.unusable()\n"},
		},
		foundBy: goTest{"./internal/hold", "TestDecisionsReadTheClockUnderTheMutex"},
	},
	{
		name:    "the renewer ends contexts itself, under the mutex",
		breaks:  "S7: no lock ends late because of another lock",
		edits:   []edit{{"internal/hold/handle.go", "n.hold.manager.ending.Go(n.ctx.end)", "n.ctx.cancel(n.hold.life.loss.Cause)"}},
		foundBy: goTest{"./internal/hold", "TestTheContextOfALockEndsBesideOneWithManyDerivedContexts"},
	},
	{
		name:    "a release is queued before the context has ended",
		breaks:  "S7: the holder is told of the end before a quorum can grant the key again",
		edits:   []edit{{"internal/hold/release.go", "		c.end()\n", "		defer c.end()\n"}},
		foundBy: goTest{"./internal/hold", "TestReleaseIsSentOnlyAfterTheContextEnded"},
	},
	{
		name:    "Do runs its function under a lock that has ended",
		breaks:  "Do runs its function under the lock or not at all",
		edits:   []edit{{"redlock/do.go", "held.Err() != nil {", "held == nil {"}},
		foundBy: goTest{"./redlock", "TestAFunctionDoesNotRunUnderALockThatIsOver"},
	},
	{
		name:    "a loss is reported by the goroutine that notices it",
		breaks:  "S7: the renewer never waits for a listener",
		edits:   []edit{{"internal/deliver/deliver.go", "func (d *Deliverer) Always(call func()) { d.put(entry{call, true}) }", "func (d *Deliverer) Always(call func()) { call() }"}},
		foundBy: goTest{"./redlock", "TestAListenerThatBlocksTakesNoLockFromItsHolder"},
	},
	{
		name:    "the renewer reports renewals itself",
		breaks:  "S7: the renewer never waits for a listener",
		edits:   []edit{{"internal/hold/renew.go", "h.report(h.manager.cfg.Deliverer.Put, report)", "h.report(func(f func()) { f() }, report)"}},
		foundBy: goTest{"./redlock", "TestAListenerThatBlocksTakesNoLockFromItsHolder"},
	},
	{
		name:    "a log line is written by the goroutine that logs it",
		breaks:  "L3: nothing in the library waits for a user's log handler",
		edits:   []edit{{"internal/deliver/log.go", "	d.Put(func() { d.log.handle(r) })\n", "	d.log.handle(r)\n"}},
		foundBy: goTest{"./redlock", "TestALogHandlerThatBlocksKeepsNoMasterAway"},
	},
}
