package doctor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/explain"
	"github.com/redquorum/redquorum/cmd/internal/observe"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/pool"
)

// Judge says whether a client can take a lock, and what is wrong with the masters, the worst first.
func Judge(look *observe.Look, facts []Facts) (*observe.Verdict, []Finding) {
	var l findings
	verdict := look.Verdict()
	judgeNumber(&l, facts)
	judgeReach(&l, facts, verdict)
	judgeAliases(&l, look.Standings)
	for i := range facts {
		f := &facts[i]
		if f.Down != nil {
			continue
		}
		if judgeMode(&l, f) {
			continue // the rest is about masters
		}
		judgeRole(&l, f)
		judgeReplicas(&l, f, look.Config)
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
	if len(facts) == 1 {
		l.add(Finding{
			Severity: Warning, Code: "one-master", What: "there is one master",
			Why: "When it fails nothing can be locked, and when it forgets its locks two may hold the same one.",
			Do:  "Use three or five masters that share nothing: no machine, no disk, no replication.",
		})
	}
}

func judgeReach(l *findings, facts []Facts, v *observe.Verdict) {
	severity, why := Warning, fmt.Sprintf("With %d of %d left locks go on, but none more may fail.",
		v.Votes, len(facts))
	if v.Votes > v.Quorum {
		why = fmt.Sprintf("With %d of %d left locks go on; %d more may fail.", v.Votes, len(facts), v.Votes-v.Quorum)
	}
	if !v.CanLock {
		severity, why = Serious, fmt.Sprintf("With %d of %d nothing can be locked: %d are needed.",
			v.Votes, len(facts), v.Quorum)
	}
	for i := range facts {
		f := &facts[i]
		if f.Down == nil {
			continue
		}
		what, do := explain.Short(f.Down), explain.Help(&guard.AbstainError{Cause: guard.NotConnected, Err: f.Down})
		_, refuses := errors.AsType[*pool.ConfigError](f.Down)
		switch a := explain.Of(f.Down); {
		case a.Down:
			what = "is " + what
		case refuses:
			what = "refuses us: " + what
		case !a.Silent:
			what = "cannot be reached: " + what
		}
		l.add(Finding{
			Severity: severity,
			Code:     "unreachable",
			What:     what,
			Why:      why,
			Do:       fmt.Sprintf(do, "it"),
		}, f.Master)
	}
}

func judgeAliases(l *findings, standings []guard.Standing) {
	for _, s := range standings {
		if s.Why != nil && s.Why.Cause == guard.Duplicate {
			l.add(Finding{
				Severity: Serious, Code: "duplicate",
				What: "is the same server as " + s.Why.Aliases[0], // that address has the vote
				Why:  "One server would have two votes, and when it fails two are gone.",
				Do:   "Name every server once.",
			}, s.Master)
		}
	}
}

// judgeMode reports whether the server can keep no locks, whatever its settings are.
func judgeMode(l *findings, f *Facts) bool {
	finding := Finding{
		Severity: Serious, Code: "not-standalone",
		Why: "A lock needs a majority of masters that all keep its key and share nothing " +
			"(docs/reference/servers.md). A guarded client does not count its votes.",
		Do: "List independent masters, of which each runs with cluster-enabled no.",
	}
	if f.standalone() {
		return false
	}
	switch mode := f.Info["redis_mode"]; mode {
	case "cluster":
		finding.What = "is a member of a Redis Cluster, " +
			"which moves keys between its members and replaces them by replicas"
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
			Severity: Warning, Code: "info-denied", What: "does not say what it is: " + explain.Short(f.InfoErr),
			Why: "The guard cannot see a restart, a replica or eviction: " +
				"at the level standard the master votes unguarded, at strict not at all.",
			Do: f.remedy(f.InfoErr, "+info"),
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
}

// judgeReplicas warns of what a master with replicas may do to locks.
func judgeReplicas(l *findings, f *Facts, config guard.Config) {
	if f.Info["role"] != "master" {
		return
	}
	replicas := f.Info["connected_slaves"] != "" && f.Info["connected_slaves"] != "0"
	if replicas && f.Config["min-replicas-to-write"] == "0" {
		l.add(Finding{
			Severity: Warning, Code: "min-replicas", What: "has replicas, and min-replicas-to-write is 0",
			Why: "When one of them is promoted while this process still runs, " +
				"clients that are connected to it go on locking here, and others there: two may hold the same lock.",
			Do: "CONFIG SET min-replicas-to-write 1 and CONFIG SET min-replicas-max-lag 10, " +
				"and the same in its redis.conf; or put no failover before it (docs/reference/servers.md).",
		}, f.Master)
	}
	ttl := f.Config["repl-backlog-ttl"]
	has := "has replicas"
	switch {
	case ttl == "", ttl == "0", !replicas && f.Info["repl_backlog_active"] != "1":
		return
	case !replicas:
		has = "had replicas and keeps a backlog for them"
	}
	l.add(Finding{
		Severity: Warning, Code: "backlog-ttl", What: fmt.Sprintf("%s, and repl-backlog-ttl is %s, want 0", has, ttl),
		Why: fmt.Sprintf("When no replica was connected for %s s, Redis frees the backlog and "+
			"gives the data another history (master_replid). "+
			"The guard cannot tell that from a resynchronisation: "+
			"the master does not vote for %v, though nothing is lost.",
			ttl, config.Quarantine()),
		Do: "CONFIG SET repl-backlog-ttl 0, and the same in its redis.conf. " +
			"Attach and detach replicas at one master at a time, a quarantine apart.",
	}, f.Master)
}

func judgeMemory(l *findings, f *Facts) {
	if p := f.policy(); p != "" && p != "noeviction" {
		l.add(Finding{
			Severity: Serious, Code: "may-evict", What: "may evict locks (maxmemory-policy " + p + ")",
			Why: "A lock that is evicted is free for somebody else while its holder works.",
			Do:  "CONFIG SET maxmemory-policy noeviction, and the same in its redis.conf.",
		}, f.Master)
	}
}

func judgePersistence(l *findings, f *Facts) {
	kept := f.persistence()
	guarded := "Without a guard two may then hold the same lock; " +
		"a guarded client does not count its votes until the longest TTL has passed."
	switch kept {
	case "aof always":
	case "unknown", "aof, fsync unknown":
		why := "it does not say"
		if f.ConfigErr != nil {
			why = "CONFIG GET: " + strings.TrimSpace(explain.Short(f.ConfigErr))
		}
		l.add(Finding{
			Severity: Note, Code: "persistence-unknown",
			What: fmt.Sprintf("whether it keeps every lock over a restart is not known: %s", why),
			Why:  "A master that forgets locks when it restarts gives them away. " + guarded,
			Do: "See to it that it runs with appendonly yes and appendfsync always. For this check: " +
				f.remedy(f.ConfigErr, "+config|get"),
		}, f.Master)
	default:
		const keep = "CONFIG SET appendonly yes and CONFIG SET appendfsync always, and the same in its redis.conf"
		finding := Finding{
			Severity: Warning, Code: "forgets",
			What: fmt.Sprintf("forgets locks when it restarts (persistence: %s)", kept),
			Why:  guarded,
			Do:   keep + "; or keep it, with a guard.",
		}
		if f.GuardFacts.Marker.Version != "" { // a guard is in use
			finding.Severity, finding.Why = Note,
				"No lock is given twice: it does not vote until the longest TTL has passed."
			finding.Do = "Nothing, or for its vote right after a restart: " + keep + "."
		}
		l.add(finding, f.Master)
	}
	if other := f.GuardFacts.OtherList; other.Digest != "" {
		l.add(Finding{
			Severity: Note, Code: "other-list",
			What: fmt.Sprintf("was used by a client with another list of masters, %v ago at most (%s)",
				other.Age.Round(time.Second), other.Digest),
			Why: "Clients whose lists differ may both hold a lock. " +
				"The other list may only spell the same masters differently.",
			Do: "Give all clients the same list, spelled alike.",
		}, f.Master)
	}
	if f.Refuses != nil {
		l.add(Finding{
			Severity: Serious, Code: "refuses-writes", What: explain.Short(f.Refuses),
			Why: "It grants no lock, though it may vote.", Do: fmt.Sprintf(explain.Help(f.Refuses), "it"),
		}, f.Master)
	}
}

func judgePermissions(l *findings, f *Facts) {
	for _, which := range []Permission{{Vital: true}, {Vital: true, Gone: true}, {}, {Gone: true}} {
		var rules, uses []string
		for _, p := range f.Missing {
			if p.Vital != which.Vital || p.Gone != which.Gone {
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
		if which.Vital {
			severity, why = Serious, "Without that nothing can be locked."
		}
		finding := Finding{
			Severity: severity, Code: "permission",
			What: "denies " + strings.Join(rules, " "), Why: why, Do: f.setUser(rules...),
		}
		if which.Gone {
			finding.Code, finding.What = "command-gone", "has no command "+strings.Join(rules, ", ")
			finding.Do = "Take the lines with rename-command out of its redis.conf and restart it. " +
				"Of a managed service, take one that has it."
		}
		l.add(finding, f.Master)
	}
}

// remedy returns what leads to an answer: to grant rule where the ACL denies it, or help against err.
func (f *Facts) remedy(err error, rule string) string {
	switch help := explain.Help(err); {
	case err == nil || strings.Contains(err.Error(), "NOPERM"):
		return f.setUser(rule)
	case isGone(err):
		return "take rename-command out of its configuration; a managed service may have no such command."
	case help != "":
		return fmt.Sprintf(help, "it")
	default:
		return "Look at the log of it."
	}
}

// setUser returns the command that grants rules to the user that asked.
func (f *Facts) setUser(rules ...string) string {
	user := f.User
	if user == "" {
		user = "USER"
	}
	return "ACL SETUSER " + user + " " + strings.Join(rules, " ")
}
