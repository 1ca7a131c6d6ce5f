package main

// Libraries and benchmarks, as the benchmarks name them, of which the code says more than that they have a row.
const (
	ours     = "redquorum"
	strict   = "redquorum-strict"
	peer     = "redsync" // the one that all is set in relation to
	failFast = "redsync-failfast"
	goRedis  = "redsync-goredis"
	single   = "redislock"
	rueidis  = "rueidislock"
	floor    = "floor"

	lockUnlock     = "LockUnlock"
	pairsPerSecond = "pairs/s"
)

// labels are the names that tables and plots use, where they are others.
var labels = map[string]string{
	failFast:            "redsync, fail-fast",
	goRedis:             "redsync on go-redis",
	single:              "redislock (one master only)",
	rueidis:             "rueidislock (one master only)",
	"pipelined":         "pipelining alone",
	floor:               "floor (no library)",
	"redquorum-polling": "redquorum, polling",

	"redquorum-unguarded":     "redquorum, guard off",
	"redquorum-fenced":        "redquorum, fencing",
	strict:                    "redquorum, strict",
	"redquorum-strict-fenced": "redquorum, strict and fencing",

	"one":    "one key",
	"all-2":  "all of 2 keys",
	"all-10": "all of 10 keys",
	"any-10": "any of 10 keys",
}

// Columns of several families.
var (
	rate      = value("pairs/s", pairsPerSecond)
	timesPeer = ratioTo(peer, pairsPerSecond)
	p50       = value("p50 µs", "p50-µs")
	p99       = value("p99 µs", "p99-µs")
	allocs    = value("allocs a pair", "allocs/op")
	clientCPU = value("client CPU µs a pair", "client-cpu-µs/op")
	serverCPU = value("servers' CPU µs a pair", "server-cpu-µs/op")
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
		libs:      []string{peer, failFast, goRedis, single, rueidis, "pipelined", "redquorum-unguarded", ours, floor},
		title:     "Lock and unlock, a key for every goroutine",
		text: "redsync waits for all masters, with its fail-fast for a quorum; with that its pairs each have a fresh key, " +
			"because a late SET can keep a key for its TTL. redislock and rueidislock lock on the first of the masters only, " +
			"with one key and two of three: no quorum, and no ratios. Pipelining alone is Redlock on shared redigo connections without any of this " +
			"library's safety: no guard, renewal, redial, limits, clocks. The floor is the same commands in large batches without a library.",
		columns: []column{rate, timesPeer, shareOf(floor, pairsPerSecond), p50, p99, allocs, clientCPU, serverCPU},
	},
	{
		benchmark: "Guard",
		by:        "goroutines",
		libs:      []string{peer, "redquorum-unguarded", ours, "redquorum-fenced", strict, "redquorum-strict-fenced"},
		title:     "The same by guard level, with and without fencing tokens",
		text:      "The default is the standard guard without fencing.",
		columns:   []column{rate, timesPeer, p50, p99, allocs, clientCPU, serverCPU},
	},
	{
		benchmark: "OneFrozen",
		by:        "goroutines",
		libs:      []string{ours},
		title:     "The same with one of five masters frozen",
		text:      "redsync on redigo is left out: its first pair would never end.",
		columns: []column{
			rate, shareOfSame("of the rate without", lockUnlock, pairsPerSecond),
			p50, p99, shareOfSame("times that without", lockUnlock, "p99-µs"), allocs, clientCPU,
		},
	},
	{
		benchmark: "SlowMaster",
		by:        "goroutines",
		libs:      []string{peer, failFast, ours},
		title:     "The same with one of five masters 20 ms away",
		text: "The distance is made by a proxy, which needs a share of the processors. So it is set beside the same proxy " +
			"without a delay, as well as beside no proxy.",
		columns: []column{
			p50,
			valueOfSame("p50 µs, near, same proxy", "NearMaster", "p50-µs"),
			shareOfSame("times that", "NearMaster", "p50-µs"),
			valueOfSame("p50 µs, no proxy", lockUnlock, "p50-µs"),
			p99, rate, timesPeer,
		},
	},
	{
		benchmark: "Masters",
		by:        "masters",
		libs:      []string{peer, ours},
		title:     "Lock and unlock by number of masters, 16 goroutines",
		columns:   []column{rate, timesPeer, p50, p99, allocs, clientCPU},
	},
	{
		benchmark: "TLS",
		by:        "goroutines",
		libs:      []string{peer, ours},
		title:     "Lock and unlock over TLS",
		columns: []column{
			rate, timesPeer, shareOfSame("of the rate without TLS", lockUnlock, pairsPerSecond),
			p50, p99, allocs, clientCPU, serverCPU,
		},
	},
	{
		benchmark: "SeveralKeys",
		by:        "goroutines",
		libs:      []string{"one", "all-2", "all-10", "any-10"},
		title:     "Several keys as one lock, and one of several",
		text: "LockAll and LockAny with keys of their own for every goroutine. The masters do ten times the work for ten keys, " +
			"which decides where goroutines share them.",
		columns: []column{rate, p50, ratioTo("one", "p50-µs"), p99, allocs, clientCPU},
	},
	{
		benchmark: "Keys",
		by:        "keys",
		libs:      []string{peer, ours},
		title:     "Attempts on keys drawn at random, 64 goroutines",
		text:      "One attempt each, nobody waits; pairs/s counts those that got the key, all else counts every attempt.",
		columns: []column{
			rate, timesPeer, value("share taken", "taken/op"),
			p50, p99, value("client CPU µs an attempt", "client-cpu-µs/op"),
		},
	},
	{
		benchmark: "HandOver",
		by:        "duos",
		libs:      []string{peer, ours},
		title:     "Hand-over from one client to another that waits",
		text:      "From the call of Unlock to the return of Lock; the duos have a key each.",
		columns:   []column{p50, p99},
	},
	{
		benchmark: "Contended",
		by:        "contenders",
		libs:      []string{peer, "redquorum-polling", ours},
		title:     "One hot key, each contender a client of its own",
		text:      "Held for 1 ms; each pauses for 10 ms after it.",
		columns: []column{
			value("acquisitions/s", "acq/s"),
			ratioTo(peer, "acq/s"),
			value("p50 wait ms", "p50-wait-ms"),
			value("p99 wait ms", "p99-wait-ms"),
			value("Jain's index", "jain"),
			value("attempts each", "attempts/acq"),
		},
	},
	{
		benchmark: "Held",
		by:        "locks",
		libs:      []string{ours},
		title:     "Locks that are held and renewed while two of five masters are killed",
		text:      "TTL 30 s. Goroutines are those beyond what the client has without locks.",
		columns: []column{
			value("lost", "lost/op"),
			value("bytes each", "B/lock"),
			value("client CPU, % of a core", "client-cpu-%"),
			value("goroutines", "goroutines/op"),
			value("renewals/s", "renewals/s"),
			value("least validity left, s", "least-left-s"),
		},
	},
}
