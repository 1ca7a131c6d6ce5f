package simmaster

import "time"

// Kill ends the master as SIGKILL does: every connection is reset and new ones
// are refused. The command that is being executed is finished first, and its
// reply lost; what waited is never executed. Kill returns when everything of
// this run has ended. Killing a killed or closed master does nothing.
func (m *Master) Kill() {
	m.lock()
	defer m.unlock()
	m.stop()
}

// Restart starts the master again at the same addresses, thawed, with a new run_id and client ids
// from 1 on. A running master is killed first. With keepData it has its keys, whose TTLs have run
// on; scripts are gone in any case. After Close the error is ErrClosed.
func (m *Master) Restart(keepData bool) error {
	m.lock()
	defer m.unlock()
	if m.closed {
		return ErrClosed
	}
	m.stop()
	if err := m.start(keepData); err != nil {
		return err
	}
	at := m.tcpAddr()
	if at == "" {
		return nil
	}
	if err := m.serve(at); err != nil {
		m.stop()
		return err
	}
	return nil
}

// Freeze stops the master as SIGSTOP does: connections are accepted, bytes are taken until buffers
// are full, but no command is executed and no reply is sent until Thaw, not even for the rest of a
// batch. When Freeze returns, the command that was being executed is finished; its reply may still
// get through. Freezing a frozen, killed or closed master does nothing.
func (m *Master) Freeze() {
	m.lock()
	defer m.unlock()
	if m.Up() {
		m.gate.freeze()
	}
}

// Thaw undoes Freeze, as SIGCONT does: replies are sent and what waited is
// executed, in the order of arrival, also for clients that have closed their
// connection meanwhile. Without a Freeze it does nothing.
func (m *Master) Thaw() {
	m.lock()
	defer m.unlock()
	m.gate.thaw()
}

// Frozen reports whether the master is frozen.
func (m *Master) Frozen() bool { return m.gate.frozen() != nil }

// SetClockOffset sets the master's clock to its source plus d, at once. The offset is absolute, not
// added to an earlier one. A step forward deletes the keys that are then due, for good. A step
// backward lengthens every TTL by the step. SetClockOffset may be called in any state, and waits
// for the command that is being executed.
func (m *Master) SetClockOffset(d time.Duration) {
	m.gate.enterControl()
	defer m.gate.leave()
	m.clock.setOffset(m.redis, d)
}

// Time returns the present time of the master's clock.
func (m *Master) Time() time.Time {
	m.gate.enterControl()
	defer m.gate.leave()
	m.clock.turn(m.redis)
	return m.clock.read
}

// Refuse makes the master answer commands, those of scripts too, with the error text that refusal
// returns. cmd is in upper case. "": the command is executed. refusal must not block.
func (m *Master) Refuse(refusal func(cmd string) string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refusal = refusal
}
