// Package bench measures redquorum beside redsync, the Redlock client that most
// Go programs use, and some others, on redis-server processes that it starts
// itself. There is nothing to import: it is all tests and benchmarks. The module is
// separate so that the peers are no dependencies of the library.
//
//	make bench                                   # everything, 6 repetitions, and tables
//	make bench-check                             # a minute, compared with bounds.json
//	go test -bench LockUnlock/lib=.*/goroutines=16 -benchtime 2s
//	go run ./cmd/report results/latest.txt       # the tables again
//
// BenchmarkLockUnlock locks and unlocks, one pair an operation. Every goroutine has its
// own key, so it measures what the libraries cost, not what contention costs. All have a
// TTL of 10 s, make one attempt, and use the same masters in turn. redsync runs as its
// documentation shows it, on a redigo pool for each master. The pools keep as many
// connections as there are goroutines, all open before the clock starts. redquorum runs
// with its defaults. Up to 256 goroutines it also measures redsync with its fail-fast,
// redsync on go-redis, redquorum without the guard, and bsm/redislock and rueidislock,
// which know one master only. The floor is the same commands from a bare pipeline
// (floor_test.go).
//
// The others change one thing each:
//
//	BenchmarkOneFrozen   one of the masters is suspended by SIGSTOP (redquorum
//	                     alone, the benchmark says why)
//	BenchmarkHandOver    from Unlock in one client to Lock in one that waits
//	BenchmarkDistance    the masters are 0.5, 2 and 20 ms away; lock, unlock and
//	                     hand-over, in round trips
//
// BenchmarkHeld shows what it costs to hold locks. It holds 100,000 with a TTL of 30 s for
// a minute and renews them, while two masters are killed. A repetition takes more than a
// minute, whatever -benchtime says. It reports other figures, and fails if a lock is lost.
//
//	make bench BENCH=Held COUNT=1
//
// In BenchmarkContended 4, 16 and 64 contenders want one key, each with its own client.
// They acquire it, hold it for 1 ms, and come back after 10 ms. It compares redsync,
// redquorum polling at the same random intervals, and redquorum as it waits by default.
// It reports
//
//	acq/s                      acquisitions of all contenders together
//	p50-wait-ms, p99-wait-ms   from the call until the lock is held
//	jain                       Jain's index of the contenders' shares, 1 at best
//	attempts/acq               attempts for each acquisition
//
// Beside Go's own ns/op, B/op and allocs/op, which count the whole process, the
// benchmarks of pairs report
//
//	pairs/s            pairs that succeeded, all goroutines together
//	p50-µs, p99-µs     latency of a pair as its caller sees it
//	client-cpu-µs/op   processor time of this process, user and system
//	server-cpu-µs/op   processor time of the masters, all together
//	failed/op          fraction of the pairs that failed, normally 0
//
// The go command's -count repeats each benchmark before the next. On a machine that is
// also busy with other work, the libraries would then run under different conditions. So
// `make bench` repeats the whole set, in which the libraries alternate.
package bench
