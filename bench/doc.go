// Package bench measures redquorum beside redsync, the Redlock client that most
// Go programs use, on five redis-server processes that it starts itself. There
// is nothing to import: all of it is tests and benchmarks, in a module of its
// own so that the peer is no dependency of the library.
//
//	make bench                                   # everything, 6 repetitions, and a table
//	go test -bench LockUnlock/lib=.*/goroutines=16 -benchtime 2s
//	go run ./cmd/report results/latest.txt       # the table again
//
// BenchmarkLockUnlock locks and unlocks, one pair an operation, a key of its
// own for every goroutine: what the libraries cost, not what contention costs.
// Both have a TTL of 10 s, make one attempt, and use the same masters in turn.
// redsync runs as its documentation shows it, on a redigo pool for each master
// that keeps as many connections as there are goroutines, all of them open
// before the clock starts; redquorum runs with its defaults.
//
// BenchmarkOneFrozen does the same while one of the masters is suspended by
// SIGSTOP; for redquorum alone, the benchmark says why.
//
// BenchmarkContended is one hot key that 4, 16 and 64 contenders, each with a
// client of its own, take in turn, hold for 1 ms, and come back to after 10 ms:
// redsync, redquorum polling at the same random moments, and redquorum as it
// waits by default. It reports
//
//	acq/s                      acquisitions, of all together
//	p50-wait-ms, p99-wait-ms   from the call until the lock is held
//	jain                       Jain's index of the contenders' shares, 1 at best
//	attempts/acq               attempts an acquisition
//
// Beside Go's own ns/op, B/op and allocs/op, which count the whole process, they
// report
//
//	pairs/s            pairs that succeeded, of all goroutines together
//	p50-µs, p99-µs     latency of a pair as its caller sees it
//	client-cpu-µs/op   processor time of this process, user and system
//	server-cpu-µs/op   processor time of the masters, all together
//	failed/op          share of the pairs that failed, normally 0
//
// The go command's -count repeats each benchmark before it turns to the next,
// so the libraries would not be measured under the same conditions on a machine
// that does other things too. `make bench` therefore repeats the whole set, in
// which the libraries alternate.
package bench
