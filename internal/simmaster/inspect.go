package simmaster

import (
	"fmt"
	"maps"
	"time"
)

// The methods here look at database 0 from outside, as no client could: in any state, also frozen,
// killed and closed. They wait only for the command that is being executed, and do not count as
// commands.

// inspect runs f with the data brought up to the master's clock.
func (m *Master) inspect(f func()) {
	m.gate.enterControl()
	defer m.gate.leave()
	m.clock.turn(m.redis)
	f()
}

// Get returns the string at key; ok is false when there is none, or a value of another type.
func (m *Master) Get(key string) (value string, ok bool) {
	m.inspect(func() {
		v, err := m.redis.DB(0).Get(key)
		value, ok = v, err == nil
	})
	return value, ok
}

// Field returns a field of a hash; "" where there is none.
func (m *Master) Field(key, field string) (value string) {
	m.inspect(func() { value = m.redis.DB(0).HGet(key, field) })
	return value
}

// Keys returns all keys, sorted.
func (m *Master) Keys() (keys []string) {
	m.inspect(func() { keys = m.redis.DB(0).Keys() })
	return keys
}

// TTL returns the time that key has left, in whole milliseconds, 0 also for one
// without expiry; ok is false when there is no such key.
func (m *Master) TTL(key string) (ttl time.Duration, ok bool) {
	m.inspect(func() {
		db := m.redis.DB(0)
		ttl, ok = db.TTL(key).Truncate(time.Millisecond), db.Exists(key)
	})
	return ttl, ok
}

// Set stores a string over whatever key held, to expire after ttl, in whole milliseconds; 0 for
// never. A ttl that is negative, or between 0 and 1 ms, is an error.
func (m *Master) Set(key, value string, ttl time.Duration) error {
	if ttl < 0 || ttl > 0 && ttl < time.Millisecond {
		return fmt.Errorf("simmaster: setting %q: ttl %v, want 0 for none or at least 1ms", key, ttl)
	}
	var err error
	m.inspect(func() {
		db := m.redis.DB(0)
		db.Del(key)
		if err = db.Set(key, value); err == nil && ttl > 0 {
			db.SetTTL(key, ttl.Truncate(time.Millisecond))
		}
	})
	return err
}

// FlushAll deletes all keys of all databases.
func (m *Master) FlushAll() {
	m.inspect(func() { m.redis.FlushAll() })
}

// Commands returns how many commands of clients were executed since New, also those answered with
// an error, by name in upper case. Commands that scripts call, and commands that still wait, are
// not counted. "SET XX" is a SET that sets no new key, such as the guard's probe.
func (m *Master) Commands() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.commands)
}

// Waiting is how many connections have a command waiting to be executed: the
// condition to wait for before asserting what a frozen master holds back.
func (m *Master) Waiting() int { return m.gate.waiting() }
