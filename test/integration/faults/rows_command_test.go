package faults

const ofCommand = "../../../cmd/redlock-demo"

// commandRows are about redlock exec, whose work is processes. Each notes in a file when it begins
// and ends, and no other may write between its two lines.
func commandRows() []row {
	return []row{
		elsewhereRow("redlock exec is stopped, or its lock is lost, while work goes on in other process groups (timeout, job control, chains)",
			"the lock is kept until all has ended; a loss ends all of it", ofCommand,
			"TestLockIsHeldUntilProcessesInOtherGroupsEnd", "TestLossEndsProcessesInOtherGroups",
			"TestAChainOfProcessesCannotHideFromExec"),
		elsewhereRow("a terminal that stops whoever writes from the background (stty tostop)",
			"redlock exec renews on", ofCommand, "TestExecIsNotSuspendedWhenItPrintsToALentTerminal"),
		elsewhereRow("a daemon that was started under a lock runs redlock exec for the key later, beside a holder and within its own lock",
			"it waits for the holder; within its own lock it is refused at once", ofCommand,
			"TestEnvironmentOfAFormerLockDoesNotGrantTheLock"),
		elsewhereRow("Ctrl-C in a script, for the command of redlock exec, and a signal at any other moment of it",
			"the script stops where the command has, and no lock stays", ofCommand,
			"TestCtrlCEndsTheScriptAroundExec", "TestExecEndsByTheSignalThatHasEndedItsCommand", "TestNoEarlySignalIsLost"),
	}
}
