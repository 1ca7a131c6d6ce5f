package doctor

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/cmd/internal/say"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/pool"
)

// Judge says whether a client can take a lock, and what is wrong with the masters, the worst first.
func Judge(look *observe.Look, facts []Facts) (*observe.Verdict, []Finding) {
	var l findings
	verdict := look.Verdict()
	judgeNumber(&l, facts)
	judgeReach(&l, facts, verdict)
	judgeTwins(&l, look.Standings)
	for i := range facts {
		f := &facts[i]
		if f.Down != nil {
			continue
		}
		judgeTLS(&l, f, look.At.Wall())
		judgeSpeed(&l, f)
		if judgeMode(&l, f) {
			continue // the rest is about masters
		}
		judgeRole(&l, f)
		judgeBacklog(&l, f, look.Config)
		judgeMemory(&l, f)
		judgePersistence(&l, f)
		judgePermissions(&l, f)
		judgeClock(&l, f, look.Config)
		judgeStep(&l, f)
	}
	judgeMarkers(&l, look, facts, verdict.New)
	if !verdict.CanLock {
		l.raise(verdict, facts)
	}
	return verdict, l.sorted()
}

func judgeNumber(l *findings, facts []Facts) {
	switch n := len(facts); {
	case n == 1:
		l.add(Finding{
			Severity: Warning, Code: "one-master", What: "there is one master",
			Why: "When it fails nothing can be locked, and when it forgets its locks two may hold the same one.",
			Do:  "Use three or five masters that share nothing: no machine, no disk, no replication.",
		})
	case n%2 == 0:
		l.add(Finding{
			Severity: Warning, Code: "even-number", What: fmt.Sprintf("there are %d masters, an even number", n),
			Why: fmt.Sprintf("%d of them may fail, no more than of %d, and there is one more to fail.", n-quorum.Need(n), n-1),
			Do:  "Add one, or take one away. All clients have to change at the same time: see docs/how-to/runbook.md.",
		})
	}
}

func judgeReach(l *findings, facts []Facts, v *observe.Verdict) {
	severity, why := Warning, fmt.Sprintf("With %d of %d left locks go on, but none more may fail.", v.Votes, len(facts))
	if v.Votes > v.Quorum {
		why = fmt.Sprintf("With %d of %d left locks go on; %d more may fail.", v.Votes, len(facts), v.Votes-v.Quorum)
	}
	if !v.CanLock {
		severity, why = Serious, fmt.Sprintf("With %d of %d nothing can be locked: %d are needed.", v.Votes, len(facts), v.Quorum)
	}
	for i := range facts {
		f := &facts[i]
		if f.Down == nil {
			continue
		}
		what, do := say.Short(f.Down), say.Help(&guard.AbstainError{Cause: guard.NotConnected, Err: f.Down})
		_, refuses := errors.AsType[*pool.ConfigError](f.Down)
		switch a := say.Of(f.Down); {
		case a.Down:
			what = "is " + what
		case refuses:
			what = "refuses us: " + what
		case !a.Silent:
			what = "cannot be reached: " + what
		}
		l.add(Finding{Severity: severity, Code: "unreachable", What: what, Why: why, Do: fmt.Sprintf(do, "it")}, f.Master)
	}
}

func judgeTwins(l *findings, standings []guard.Standing) {
	for _, s := range standings {
		if s.Why != nil && s.Why.Cause == guard.Duplicate {
			l.add(Finding{
				Severity: Serious, Code: "duplicate", What: "is the same server as " + s.Why.Twins[0], // which has the vote
				Why: "One server would have two votes, and when it fails two are gone.",
				Do:  "Name every server once.",
			}, s.Master)
		}
	}
}

// judgeMode reports whether it is a server that keeps no locks of ours, whatever its
// permissions and settings are.
func judgeMode(l *findings, f *Facts) bool {
	finding := Finding{
		Severity: Serious, Code: "not-standalone",
		Why: "A lock needs a majority of masters that all keep its key and share nothing (docs/reference/servers.md). A guarded client does not count its votes.",
		Do:  "List independent masters, of which each runs with cluster-enabled no.",
	}
	if f.standalone() {
		return false
	}
	switch mode := f.Info["redis_mode"]; mode {
	case "cluster":
		finding.What = "is a member of a Redis Cluster, which moves keys between its members and replaces them by replicas"
	case "sentinel":
		finding.What, finding.Do = "is a Sentinel, which keeps no keys", "List the master that it watches."
	default:
		finding.What = "runs in mode " + mode + ", want standalone"
	}
	l.add(finding, f.Master)
	return true
}

func judgeRole(l *findings, f *Facts) {
	if f.InfoErr != nil {
		l.add(Finding{
			Severity: Warning, Code: "info-denied", What: "does not say what it is: " + say.Short(f.InfoErr),
			Why: "The guard cannot see a restart, a replica or eviction: at the level standard the master votes unguarded, at strict not at all.",
			Do:  f.setUser("+info"),
		}, f.Master)
		return
	}
	if role := f.Info["role"]; role != "" && role != "master" {
		l.add(Finding{
			Severity: Serious, Code: "not-master", What: "is a replica (role " + role + ")",
			Why: "What it has is a late copy: two clients may each be granted the same lock.",
			Do:  "Name its master instead, or make it one: REPLICAOF NO ONE.",
		}, f.Master)
	}
	if f.Info["loading"] == "1" {
		l.add(Finding{
			Severity: Warning, Code: "loading", What: "is still loading its data",
			Why: "It refuses commands until it is done.", Do: "Wait.",
		}, f.Master)
	}
	if n := f.Info["connected_slaves"]; n != "" && n != "0" {
		l.add(Finding{
			Severity: Note, Code: "replicas", What: "has replicas (" + n + ")",
			Why: "A replica that is promoted in its place lacks the locks of the last moments.",
			Do:  "Do not put a failover (Sentinel, a cluster manager) before the masters of locks.",
		}, f.Master)
	}
	if major, minor, ok := f.version(); ok && major < 5 {
		l.add(Finding{
			Severity: Warning, Code: "old-version", What: fmt.Sprintf("is Redis %d.%d", major, minor),
			Why: "Below 5.0 there is no queue of those who wait, no read-write lock, and no guard.",
			Do:  "Use Redis 6.2 or newer.",
		}, f.Master)
	}
}

// judgeBacklog warns of replicas whose absence costs the master its vote.
func judgeBacklog(l *findings, f *Facts, config guard.Config) {
	ttl := f.Config["repl-backlog-ttl"]
	if ttl == "" || ttl == "0" || f.Info["role"] != "master" {
		return
	}
	var has string
	switch {
	case f.Info["connected_slaves"] != "" && f.Info["connected_slaves"] != "0":
		has = "has replicas"
	case f.Info["repl_backlog_active"] == "1":
		has = "had replicas and keeps a backlog for them"
	default:
		return
	}
	l.add(Finding{
		Severity: Warning, Code: "backlog-ttl", What: fmt.Sprintf("%s, and repl-backlog-ttl is %s, want 0", has, ttl),
		Why: fmt.Sprintf("When no replica was connected for %s s, Redis frees the backlog and gives the data another history (master_replid). The guard cannot tell that from a resynchronisation: the master does not vote for %v, though nothing is lost.", ttl, config.Quarantine()),
		Do:  "CONFIG SET repl-backlog-ttl 0, and the same in its redis.conf. Attach and detach replicas at one master at a time, a quarantine apart.",
	}, f.Master)
}

func judgeMemory(l *findings, f *Facts) {
	switch p := f.policy(); {
	case p == "":
	case p != "noeviction":
		l.add(Finding{
			Severity: Serious, Code: "may-evict", What: "may evict locks (maxmemory-policy " + p + ")",
			Why: "A lock that is evicted is free for somebody else while its holder works.",
			Do:  "CONFIG SET maxmemory-policy noeviction, and the same in its redis.conf.",
		}, f.Master)
	case f.Info["maxmemory"] != "" && f.Info["maxmemory"] != "0":
		l.add(Finding{
			Severity: Note, Code: "maxmemory", What: "has a bound on its memory (maxmemory " + f.Info["maxmemory"] + ")",
			Why: "When it is full it grants no locks. Nothing is evicted.",
			Do:  "Keep other data out of it, and watch used_memory.",
		}, f.Master)
	}
}

func judgePersistence(l *findings, f *Facts) {
	kept := f.persistence()
	guarded := "Without a guard two may then hold the same lock; a guarded client does not count its votes until the longest TTL has passed."
	switch kept {
	case "aof always":
	case "unknown", "aof, fsync unknown":
		why := "CONFIG GET is denied"
		if f.ConfigErr == nil {
			why = "it does not say"
		}
		l.add(Finding{
			Severity: Note, Code: "persistence-unknown", What: fmt.Sprintf("whether it keeps every lock over a restart is not known: %s", why),
			Why: "A master that forgets locks when it restarts gives them away. " + guarded,
			Do:  "See to it that it runs with appendonly yes and appendfsync always, or " + f.setUser("+config|get") + " for this check.",
		}, f.Master)
	default:
		const forgets, keep = "forgets locks when it restarts (persistence: %s)", "CONFIG SET appendonly yes and CONFIG SET appendfsync always, and the same in its redis.conf"
		finding := Finding{Severity: Warning, Code: "forgets", What: fmt.Sprintf(forgets, kept), Why: guarded, Do: keep + "; or keep it, with a guard."}
		if f.Told.Marker.Version != "" { // a guard is in use
			finding.Severity, finding.Why = Note, "No lock is given twice: it does not vote until the longest TTL has passed."
			finding.Do = "Nothing, or for its vote right after a restart: " + keep + "."
		}
		l.add(finding, f.Master)
	}
	if f.Refuses != nil {
		l.add(Finding{
			Severity: Serious, Code: "refuses-writes", What: say.Short(f.Refuses),
			Why: "It grants no lock, though it may vote.", Do: fmt.Sprintf(say.Help(f.Refuses), "it"),
		}, f.Master)
	}
	if s := f.Info["aof_last_write_status"]; s != "" && s != "ok" {
		l.add(Finding{
			Severity: Serious, Code: "aof-failing", What: "cannot write its append-only file (aof_last_write_status " + s + ")",
			Why: "It refuses every write until it can.", Do: "Look at its disk and its log.",
		}, f.Master)
	}
	if s := f.Info["rdb_last_bgsave_status"]; s != "" && s != "ok" {
		l.add(Finding{
			Severity: Warning, Code: "save-failing", What: "could not save its data (rdb_last_bgsave_status " + s + ")",
			Why: "By default it refuses every write from then on (stop-writes-on-bgsave-error).", Do: "Look at its disk and its log.",
		}, f.Master)
	}
}

func judgePermissions(l *findings, f *Facts) {
	for _, vital := range []bool{true, false} {
		var rules, uses []string
		for _, p := range f.Missing {
			if p.Vital != vital {
				continue
			}
			rules = append(rules, p.Rule)
			if len(uses) == 0 || uses[len(uses)-1] != p.For {
				uses = append(uses, p.For)
			}
		}
		if rules == nil {
			continue
		}
		severity, why := Warning, "Without that these do not work: "+strings.Join(uses, "; ")+"."
		if vital {
			severity, why = Serious, "Without that nothing can be locked."
		}
		l.add(Finding{
			Severity: severity, Code: "permission", What: "denies " + strings.Join(rules, " "),
			Why: why, Do: f.setUser(rules...),
		}, f.Master)
	}
}

// setUser is the command that grants rules to the user that asked.
func (f *Facts) setUser(rules ...string) string {
	user := f.User
	if user == "" {
		user = "USER"
	}
	return "ACL SETUSER " + user + " " + strings.Join(rules, " ")
}

func judgeSpeed(l *findings, f *Facts) {
	if p99 := term.Percentile(f.RoundTrips, 99); p99 >= slow {
		l.add(Finding{
			Severity: Note, Code: "slow", What: fmt.Sprintf("is slow now and then (a p99 of %s or more)", term.Span(slow)),
			Why: "A lock operation waits for a master for a twentieth of the TTL, 50 ms at least and 250 ms at most.",
			Do:  "Bring the masters nearer, or set the masters' timeout (WithCommandTimeout).",
		}, f.Master)
	}
}

// How long before its end a certificate is spoken of.
const (
	expiresSoon = 30 * 24 * time.Hour
	expiresNow  = 3 * 24 * time.Hour
)

func judgeTLS(l *findings, f *Facts, now time.Time) {
	if f.Expires.IsZero() {
		return
	}
	left := f.Expires.Sub(now)
	if left >= expiresSoon {
		return
	}
	severity := Warning
	if left < expiresNow {
		severity = Serious
	}
	l.add(Finding{
		Severity: severity, Code: "certificate", What: fmt.Sprintf("has a certificate that expires in %s, on %s", daysLeft(left), f.Expires.UTC().Format(time.DateOnly)),
		Why: "From then on nobody can connect to it.", Do: "Renew it.",
	}, f.Master)
}

func daysLeft(d time.Duration) string {
	if d < 48*time.Hour {
		return term.Count(int(d.Hours()), "hour")
	}
	return term.Count(int(math.Floor(d.Hours()/24)), "day")
}
