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
// BenchmarkHeld shows what locks cost that are only held: 100,000 of them with a
// TTL of 30 s for a minute, renewed all the time, while two masters are killed.
// It takes more than a minute a repetition, whatever -benchtime says, and
// reports figures of its own; it fails if one lock is lost.
//
//	make bench BENCH=Held COUNT=1
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
