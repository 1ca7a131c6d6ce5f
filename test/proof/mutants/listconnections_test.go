package mutants

// ofConnections are mistakes about how masters are dialled, and what is said of them.
var ofConnections = []mutant{
	{
		name:    "a certificate that is compared with no name",
		breaks:  "a password goes to the master of the URL alone",
		edits:   []edit{{"internal/pipeline/dial.go", "if cfg.ServerName == \"\" {", "if cfg.ServerName == \"\" && !cfg.InsecureSkipVerify {"}},
		foundBy: goTest{"./internal/pipeline", "TestVerifyConnectionIsGivenTheHostOfTheURL"},
	},
	{
		name:    "a certificate that is compared with no IP address",
		breaks:  "a password goes to the master of the URL alone",
		edits:   []edit{{"internal/pipeline/dial.go", "			state.ServerName = cfg.ServerName\n", ""}},
		foundBy: goTest{"./internal/pipeline", "TestVerifyConnectionIsGivenTheHostOfTheURL"},
	},
	{
		name:    "replies that are not those of the commands",
		breaks:  "S1: only a grant counts",
		edits:   []edit{{"internal/pipeline/dial.go", "if ahead != nil {", "if false {"}},
		foundBy: goTest{"./internal/pipeline", "TestAnAnswerBeforeTheCommandIsNoVote"},
	},
	{
		name:    "a backoff that one reply resets",
		breaks:  "a bad master is not dialled in a loop",
		edits:   []edit{{"internal/pipeline/pipeline.go", "case p.proved(begun, failures+1) &&", "case answered || p.proved(begun, failures+1) &&"}},
		foundBy: goTest{"./internal/pipeline", "TestAMasterThatBreaksAfterEachReplyIsDialledWithABackoff"},
	},
	{
		name:    "a backoff that one message resets",
		breaks:  "a bad master is not dialled in a loop",
		edits:   []edit{{"internal/pipeline/subscribe.go", "!began.IsZero() && s.p.proved(began, failures)", "!began.IsZero()"}},
		foundBy: goTest{"./internal/pipeline", "TestASubscriptionThatBreaksAfterEachMessageIsMadeWithABackoff"},
	},
	{
		name:    "a warning for each loss",
		breaks:  "what happens again and again is one line with a count",
		edits:   []edit{{"internal/pipeline/warn.go", "time.Since(w.logged) >= warnEvery", "true"}},
		foundBy: goTest{"./internal/pipeline", "TestAMasterThatBreaksAfterEachReplyIsDialledWithABackoff"},
	},
	{
		name:    "a master that is down before it was dialled",
		breaks:  "an error says what is known of a master, and no more",
		edits:   []edit{{"internal/pipeline/errors.go", "waits || errors.Is(e.Cause, ErrConnecting)", "waits"}},
		foundBy: goTest{"./internal/pipeline", "TestAMasterThatIsBeingDialledIsNotSaidToBeDown"},
	},
	{
		name:    "a master that is down while its password is fetched",
		breaks:  "an error says what is known of a master, and no more",
		edits:   []edit{{"internal/pipeline/credentials.go", "p.explains(&waitingError{before})", "p.explains(before)"}},
		foundBy: goTest{"./internal/pipeline", "TestAMasterThatIsBeingDialledIsNotSaidToBeDown"},
	},
	{
		name:    "a callback that holds up Close",
		breaks:  "Close waits for nothing without a bound",
		edits:   []edit{{"internal/pipeline/credentials.go", "time.NewTimer(credentialsGrace)", "time.NewTimer(time.Hour)"}},
		foundBy: goTest{"./internal/pipeline", "TestACredentialsCallbackThatIgnoresItsContextDoesNotHoldUpClose"},
	},
	{
		name:    "a callback for each dial that one has hung in",
		breaks:  "a hanging callback leaves one goroutine behind for each master",
		edits:   []edit{{"internal/pipeline/pipeline.go", "make(chan struct{}, 1)", "make(chan struct{}, 1000)"}},
		foundBy: goTest{"./internal/pipeline", "TestACredentialsCallbackThatHasNotReturnedIsNotCalledAgain"},
	},
	{
		name:    "a panic in a callback that ends the process",
		breaks:  "a callback that fails fails a dial",
		edits:   []edit{{"internal/pipeline/credentials.go", "if what := recover(); what != nil {", "if what := error(nil); what != nil {"}},
		foundBy: goTest{"./internal/pipeline", "TestAPanicOfACredentialsCallbackFailsTheDialAndIsNamed"},
	},
	{
		name:    "as much text as a master sends",
		breaks:  "errors and logs repeat 512 bytes of what a master says",
		edits:   []edit{{"internal/pipeline/errors.go", "if len(text) <= longestText {", "if len(text) <= maxLine {"}},
		foundBy: goTest{"./internal/pipeline", "TestALongTextOfAMasterIsCutAlikeInErrorsAndLogs"},
	},
	{
		name:    "a text that is cut before the password is hidden",
		breaks:  "no text holds a part of a secret",
		edits:   []edit{{"internal/pipeline/handshake.go", "Err: excerpt(redacted(err, h.secret))", "Err: redacted(excerpt(err), h.secret)"}},
		foundBy: goTest{"./internal/pipeline", "TestAPasswordIsHiddenBeforeATextIsCut"},
	},
}
