package faults

// waitingRows are about calls that wait for masters: until an outage ends, or an answer comes from
// far away.
func waitingRows() []row {
	return []row{
		elsewhereRow("three of five masters are restarted, and their quarantine ends, while a call waits",
			"it has the lock 0.2 s later", ofRedlock, "TestALockIsHadSoonAfterAQuarantine"),
		elsewhereRow("all connections are reset four times a second",
			"masters are dialled again at once", ofPipeline, "TestAMasterWhoseConnectionsAreResetInARhythmIsDialledAtOnce"),
		elsewhereRow("a master becomes a replica, and its address leads to another server later, while connections stay",
			"the address is dialled again, without a guard too", ofVoters, "TestAServerThatIsNoMasterIsDialledAgain", "TestWithoutGuardAnErrorReplyRedialsADemotedServer"),
		elsewhereRow("all masters are 600 ms away, ten callers at random moments",
			"Lock, TryLock, Extend, Unlock and Do as nearby, with a TTL of 30 s", ofRedlock, "TestLocksAtMastersThatAreFarAway"),
	}
}
