// Package redlocktest gives tests of code that takes locks the masters for them: embedded in the
// test process, on loopback ports, with nothing to install and nothing left behind.
//
//	func TestOnlyOneWorkerSells(t *testing.T) {
//		c, err := redlock.Open(redlocktest.Start(t, 3))
//		if err != nil {
//			t.Fatal(err)
//		}
//		defer c.Close()
//
//		lock, err := c.Lock(t.Context(), "stock:42")
//		if err != nil {
//			t.Fatal(err)
//		}
//		defer lock.Unlock(context.Background())
//		// …
//	}
//
// [StartCluster] is for tests of what happens when masters fail: they can be
// killed, restarted without their data, frozen and thawed.
//
//	masters := redlocktest.StartCluster(t, 5)
//	c, err := redlock.Open(masters.URLs())
//	// …
//	masters.Kill(0)
//	masters.Freeze(1) // three of five are left: locking goes on
//	masters.Kill(2)   // two are left: redlock.ErrNoQuorum
//
// [StartInBubble] is for tests in a testing/synctest bubble, where minutes pass at once:
//
//	synctest.Test(t, func(t *testing.T) {
//		masters := redlocktest.StartInBubble(t, 3)
//		c, err := masters.Open()
//		// …
//		time.Sleep(time.Minute) // the lock is renewed all the while
//	})
//
// [Run] is for TestMain, for Example functions and for programs, which have no
// testing.TB.
//
// A restarted master has lost its data. At the guard's default level it does not vote until every
// lock that it may have forgotten has expired (redlock.WithMaxTTL): lower that in a test that waits
// for it.
//
// The masters speak the Redis protocol, run Lua, and expire keys by the real clock. Any Redis
// client can use them, but they are no Redis: persistence, replication, ACLs, passwords, TLS and
// part of the commands are missing. They do not work on 32-bit systems, and they are slow with more
// than a few thousand keys. Tests that need these things need a real redis-server.
package redlocktest
