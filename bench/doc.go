// Package bench measures redquorum beside redsync, the Redlock client that most
// Go programs use, and some others, on redis-server processes that it starts
// itself. There is nothing to import: all of it is tests and benchmarks, in a
// module of its own so that the peers are no dependencies of the library.
//
//	make bench                                   # everything, 6 repetitions, and tables
//	make bench-check                             # a minute, compared with bounds.json
//	go test -bench LockUnlock/lib=.*/goroutines=16 -benchtime 2s
//	go run ./cmd/report results/latest.txt       # the tables again
//
// BenchmarkLockUnlock locks and unlocks, one pair an operation, a key of its own for
// every goroutine: what the libraries cost, not what contention costs. All have a TTL
// of 10 s, make one attempt, and use the same masters in turn. redsync runs as its
// documentation shows it, on a redigo pool for each master. The pools keep as many
// connections as there are goroutines, all open before the clock starts. redquorum runs
// with its defaults. Up to 256 goroutines there are also redsync with its fail-fast,
// redsync on go-redis, and bsm/redislock and rueidislock, which know one master only. Their floor is
// the same commands from a bare pipeline (floor_test.go).
//
// The others change one thing each:
//
//	BenchmarkOneFrozen   one of the masters is suspended by SIGSTOP (redquorum
//	                     alone, the benchmark says why)
//	BenchmarkHandOver    from Unlock in one client to Lock in one that waits
//	BenchmarkDistance    the masters are 0.5, 2 and 20 ms away; lock, unlock and
//	                     hand-over, in round trips
//
// BenchmarkHeld shows what locks cost that are only held: 100,000 of them with a
// TTL of 30 s for a minute, renewed all the time, while two masters are killed.
// It takes more than a minute a repetition, whatever -benchtime says, and
// reports figures of its own; it fails if one lock is lost.
//
//	make bench BENCH=Held COUNT=1
//
// BenchmarkContended is one hot key for 4, 16 and 64 contenders, each with a client of
// its own. They take it in turn, hold it for 1 ms, and come back after 10 ms. The
// rivals are redsync, redquorum polling at the same random moments, and redquorum as it
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
// The go command's -count repeats each benchmark before it turns to the next. On a
// machine that does other things too, the libraries would then be measured under
// different conditions. So `make bench` repeats the whole set, in which the libraries
// alternate.
package bench
