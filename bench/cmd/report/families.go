package main

// Benchmarks, without "Benchmark".
const (
	lockUnlock = "LockUnlock"
	oneFrozen  = "OneFrozen"
	slowMaster = "SlowMaster"
	nearMaster = "NearMaster"
	handOver   = "HandOver"
	contended  = "Contended"
	held       = "Held"
	guard      = "Guard"
	masters    = "Masters"
	keys       = "Keys"
	several    = "SeveralKeys"
	overTLS    = "TLS"
)

// Libraries, as the benchmarks name them.
const (
	ours     = "redquorum"
	peer     = "redsync" // the one that all is set in relation to
	failFast = "redsync-failfast"
	goRedis  = "redsync-goredis"
	single   = "redislock"
	pipes    = "pipelined"
	floor    = "floor"
	polling  = "redquorum-polling"

	unguarded    = "redquorum-unguarded"
	fenced       = "redquorum-fenced"
	strict       = "redquorum-strict"
	strictFenced = "redquorum-strict-fenced"

	oneKey = "one"
	all2   = "all-2"
	all10  = "all-10"
	any10  = "any-10"
)

// labels are the names that tables and plots use, where they are others.
var labels = map[string]string{
	failFast: "redsync, fail-fast",
	goRedis:  "redsync on go-redis",
	single:   "redislock (one master only)",
	pipes:    "pipelining alone",
	floor:    "floor (no library)",
	polling:  "redquorum, polling",

	unguarded:    "redquorum, guard off",
	fenced:       "redquorum, fencing",
	strict:       "redquorum, strict",
	strictFenced: "redquorum, strict and fencing",

	oneKey: "one key",
	all2:   "all of 2 keys",
	all10:  "all of 10 keys",
	any10:  "any of 10 keys",
}

func label(lib string) string {
	if l, ok := labels[lib]; ok {
		return l
	}
	return lib
}

// Units, as the benchmarks name them.
const (
	pairsPerSecond = "pairs/s"
	p50            = "p50-µs"
	p99            = "p99-µs"
	allocs         = "allocs/op"
	clientCPU      = "client-cpu-µs/op"
	serverCPU      = "server-cpu-µs/op"
	failedShare    = "failed/op"
	takenShare     = "taken/op"

	acquisitions = "acq/s"
	p50Wait      = "p50-wait-ms"
	p99Wait      = "p99-wait-ms"
	jain         = "jain"
	attemptsEach = "attempts/acq"

	heldBytes      = "B/lock"
	heldCPU        = "client-cpu-%"
	heldGoroutines = "goroutines/op"
	heldLost       = "lost/op"
	renewalRate    = "renewals/s"
	leastLeft      = "least-left-s"
)

// A family is a benchmark with all its libraries and sizes: one table, with a
// row for each size and library that was measured.
type family struct {
	benchmark string
	by        string   // what varies, as in the benchmarks' names
	libs      []string // in the order of the rows
	title     string
	text      string // below the title; may be empty
	columns   []column
}

// families are the sections of the report. A benchmark that is not here is
// passed over; to have it in the report takes an entry, and nothing else.
var families = []family{
	{
		benchmark: lockUnlock,
		by:        "goroutines",
		libs:      []string{peer, failFast, goRedis, single, pipes, unguarded, ours, floor},
		title:     "Lock and unlock, a key for every goroutine",
		text: "redsync waits for all masters, with its fail-fast for a quorum; with that its pairs each have a fresh key, " +
			"because a late SET can keep a key for its TTL. redislock locks on the first of the masters only, so it has a fifth " +
			"of the work and no quorum: no ratios. Pipelining alone is Redlock on shared redigo connections without any of this " +
			"library's safety: no guard, renewal, redial, limits, clocks. The floor is the same commands in large batches without a library.",
		columns: []column{
			value("pairs/s", pairsPerSecond),
			ratioTo(peer, pairsPerSecond),
			shareOf(floor, pairsPerSecond),
			value("p50 µs", p50),
			value("p99 µs", p99),
			value("allocs a pair", allocs),
			value("client CPU µs a pair", clientCPU),
			value("servers' CPU µs a pair", serverCPU),
		},
	},
	{
		benchmark: guard,
		by:        "goroutines",
		libs:      []string{peer, unguarded, ours, fenced, strict, strictFenced},
		title:     "The same by guard level, with and without fencing tokens",
		text:      "The default is the standard guard without fencing.",
		columns: []column{
			value("pairs/s", pairsPerSecond),
			ratioTo(peer, pairsPerSecond),
			value("p50 µs", p50),
			value("p99 µs", p99),
			value("allocs a pair", allocs),
			value("client CPU µs a pair", clientCPU),
			value("servers' CPU µs a pair", serverCPU),
		},
	},
	{
		benchmark: oneFrozen,
		by:        "goroutines",
		libs:      []string{ours},
		title:     "The same with one of five masters frozen",
		text:      "redsync on redigo is left out: its first pair would never end.",
		columns: []column{
			value("pairs/s", pairsPerSecond),
			shareOfSame("of the rate without", lockUnlock, pairsPerSecond),
			value("p50 µs", p50),
			value("p99 µs", p99),
			shareOfSame("times that without", lockUnlock, p99),
			value("allocs a pair", allocs),
			value("client CPU µs a pair", clientCPU),
		},
	},
	{
		benchmark: slowMaster,
		by:        "goroutines",
		libs:      []string{peer, failFast, ours},
		title:     "The same with one of five masters 20 ms away",
		text: "The distance is made by a proxy, which needs a share of the processors. So it is set beside the same proxy " +
			"without a delay, as well as beside no proxy.",
		columns: []column{
			value("p50 µs", p50),
			valueOfSame("p50 µs, near, same proxy", nearMaster, p50),
			shareOfSame("times that", nearMaster, p50),
			valueOfSame("p50 µs, no proxy", lockUnlock, p50),
			value("p99 µs", p99),
			value("pairs/s", pairsPerSecond),
			ratioTo(peer, pairsPerSecond),
		},
	},
	{
		benchmark: masters,
		by:        "masters",
		libs:      []string{peer, ours},
		title:     "Lock and unlock by number of masters, 16 goroutines",
		columns: []column{
			value("pairs/s", pairsPerSecond),
			ratioTo(peer, pairsPerSecond),
			value("p50 µs", p50),
			value("p99 µs", p99),
			value("allocs a pair", allocs),
			value("client CPU µs a pair", clientCPU),
		},
	},
	{
		benchmark: overTLS,
		by:        "goroutines",
		libs:      []string{peer, ours},
		title:     "Lock and unlock over TLS",
		columns: []column{
			value("pairs/s", pairsPerSecond),
			ratioTo(peer, pairsPerSecond),
			shareOfSame("of the rate without TLS", lockUnlock, pairsPerSecond),
			value("p50 µs", p50),
			value("p99 µs", p99),
			value("allocs a pair", allocs),
			value("client CPU µs a pair", clientCPU),
			value("servers' CPU µs a pair", serverCPU),
		},
	},
	{
		benchmark: several,
		by:        "goroutines",
		libs:      []string{oneKey, all2, all10, any10},
		title:     "Several keys as one lock, and one of several",
		text: "LockAll and LockAny with keys of their own for every goroutine. The masters do ten times the work for ten keys, " +
			"which decides where goroutines share them.",
		columns: []column{
			value("pairs/s", pairsPerSecond),
			value("p50 µs", p50),
			ratioTo(oneKey, p50),
			value("p99 µs", p99),
			value("allocs a pair", allocs),
			value("client CPU µs a pair", clientCPU),
		},
	},
	{
		benchmark: keys,
		by:        "keys",
		libs:      []string{peer, ours},
		title:     "Attempts on keys drawn at random, 64 goroutines",
		text:      "One attempt each, nobody waits; pairs/s counts those that got the key, all else counts every attempt.",
		columns: []column{
			value("pairs/s", pairsPerSecond),
			ratioTo(peer, pairsPerSecond),
			value("share taken", takenShare),
			value("p50 µs", p50),
			value("p99 µs", p99),
			value("client CPU µs an attempt", clientCPU),
		},
	},
	{
		benchmark: handOver,
		by:        "duos",
		libs:      []string{peer, ours},
		title:     "Hand-over from one client to another that waits",
		text:      "From the call of Unlock to the return of Lock; the duos have a key each.",
		columns: []column{
			value("p50 µs", p50),
			value("p99 µs", p99),
		},
	},
	{
		benchmark: contended,
		by:        "contenders",
		libs:      []string{peer, polling, ours},
		title:     "One hot key, each contender a client of its own",
		text:      "Held for 1 ms; each pauses for 10 ms after it.",
		columns: []column{
			value("acquisitions/s", acquisitions),
			ratioTo(peer, acquisitions),
			value("p50 wait ms", p50Wait),
			value("p99 wait ms", p99Wait),
			value("Jain's index", jain),
			value("attempts each", attemptsEach),
		},
	},
	{
		benchmark: held,
		by:        "locks",
		libs:      []string{ours},
		title:     "Locks that are held and renewed while two of five masters are killed",
		text:      "TTL 30 s. Goroutines are those beyond what the client has without locks.",
		columns: []column{
			value("lost", heldLost),
			value("bytes each", heldBytes),
			value("client CPU, % of a core", heldCPU),
			value("goroutines", heldGoroutines),
			value("renewals/s", renewalRate),
			value("least validity left, s", leastLeft),
		},
	},
}
