// Package redlock takes locks that must not be held twice, by quorum over N
// independent Redis masters.
//
//	client, err := redlock.Open([]string{
//		"redis://10.0.0.1:6379", "redis://10.0.0.2:6379", "redis://10.0.0.3:6379",
//		"redis://10.0.0.4:6379", "redis://10.0.0.5:6379",
//	})
//	…
//	err = client.Do(ctx, "invoice:42", func(ctx context.Context) error {
//		if paid(ctx, 42) {
//			return nil // a lock does not remember that the work was done
//		}
//		return charge(ctx, 42) // ctx ends if the lock can no longer be guaranteed
//	})
//
// [Client.Lock] and [Client.TryLock] give a [Lock] to hold and unlock. [Client.TryDo] skips
// the work while somebody else does it, [Client.Lead] leads again and again,
// [Client.Semaphore] admits several holders, and [Client.RWMutex] many readers or one
// writer. [Client.LockAll] takes several keys at once. [Client.Ready] fails early where
// masters are misconfigured; [Open] succeeds with all of them down.
//
// It follows the Redlock algorithm (redis.io, "Distributed Locks with Redis"). An attempt sends SET
// key token NX PX ttl to every master at once and succeeds at N/2+1 of them. The validity is the
// TTL less the attempt's duration and an allowance for clock drift. A failed attempt is rolled back
// everywhere. The key is a plain string named as the caller names it, so that other Redlock clients
// respect it and are respected.
//
// # What is promised
//
// Mutual exclusion holds as long as four conditions do. No master that granted a lock
// forgets the key or expires it early. Clocks run within the drift factor and do not
// jump. All clients of a key use the same masters. The holder acts only while its
// context lives. Redis forgets when it restarts without appendfsync always, when it
// evicts, and when a replica takes over: masters that may have forgotten do not vote
// until what they forgot has expired (WithGuard, WithMaxTTL; [Client.Masters] tells
// which and why).
//
// Nothing that runs on the client can stop work that it has begun before a long
// pause: a resource that must not be touched by a former holder has to check
// for itself.
//
// # Holding
//
// A lock is renewed at every third of its validity until it is unlocked; WithLease
// makes one that ends by itself. [Lock.Context] ends before the masters can
// give the key to somebody else: by a timer when the validity runs out, sooner
// when a majority says that the key is gone. An error of [Lock.Extend] or of
// [Client.Do] says whether the lock was lost.
//
// # Several keys
//
// [Client.LockAll] takes all of several keys or none, as one lock.
// [Client.LockAny] takes whichever one of them is free: segments that are worked
// on in parallel, or a semaphore with as many permits as there are keys.
//
// # Reading and writing
//
// [Client.RWMutex] is a lock for many readers or one writer. The writer is the plain lock of the
// key; readers expire one by one. A reader cannot become the writer, and the writer cannot become a
// reader: unlock, and lock again.
//
// # Failing
//
// Acquiring fails with [ErrTaken], which is contention, or [ErrNoQuorum], an outage. The two are
// never mixed up. A lock that was held ends with [ErrLost]: stop. An operation on a lock that has
// ended fails with [ErrNotHeld]. [ErrReentrant] is a mistake in the program. For the facts,
// errors.As finds a [QuorumError], which names for every master why it did not agree
// ([QuorumError.NodeErrors]), a [Holder], an [AbstainError], or a [LostError]. A master that is
// slow, frozen or gone does not delay an operation that the others can decide. But each hand-over
// of a contended key waits for the master that keeps its queue, even if that master is slow.
//
// # Testing
//
// Package redlocktest starts masters inside a test, with nothing to install, and
// lets them die. Inside a testing/synctest bubble TTLs and quarantines take no time.
package redlock
