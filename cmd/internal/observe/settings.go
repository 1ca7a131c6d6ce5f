package observe

import (
	"context"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/pool"
)

// settingsBound is how long the masters have to send their settings. The attempt that follows waits
// for connections, too: together they take ConnectBound.
const settingsBound = app.ConnectBound - 500*time.Millisecond

// The least time for the other masters after the first answer, and after an equal second one.
const (
	afterOne = 250 * time.Millisecond
	afterTwo = 25 * time.Millisecond
)

// SettingsOf returns the settings in the markers of a quorum, as soon as they are known. If
// no quorum agrees in time, it returns those of most markers. sure: a quorum agrees. found:
// any marker has settings.
func SettingsOf(ctx context.Context, p *pool.Pool) (fleet guard.Config, found, sure bool) {
	ctx, cancel := context.WithTimeout(ctx, settingsBound)
	masters := mastersOf(p)
	answers := make(chan guard.Config, len(masters)) // one of each master; the zero Config: it has none
	var wg sync.WaitGroup
	defer wg.Wait() // also for calls that are not needed
	defer cancel()
	for _, m := range masters {
		wg.Go(func() { answers <- m.settings(ctx) })
	}
	began := time.Now()
	votes, need := map[guard.Config]int{}, quorum.Need(len(masters))
	for left := len(masters) - 1; left >= 0 && votes[fleet] < need; left-- {
		c := <-answers
		least := afterOne
		switch {
		case c != guard.Config{}:
			if votes[c]++; votes[c] > 1 {
				least = afterTwo
			}
			if votes[c] > votes[fleet] {
				fleet, found = c, true
			}
		case !found || votes[fleet]+left >= need:
			continue
		}
		// A master that is silent for ten times as long is frozen, or its answer is not needed.
		enough := time.AfterFunc(max(least, 9*time.Since(began)), cancel)
		defer enough.Stop()
	}
	return fleet, found, votes[fleet] >= need
}

// settings returns the settings in the master's marker.
func (m *Master) settings(ctx context.Context) guard.Config {
	if m.Connect(ctx) != nil {
		return guard.Config{}
	}
	a := m.Do(ctx, "HMGET", guard.Key, "v", "maxttl", "n", "level", "to")
	v, err := redis.Strings(a.Reply, a.Err)
	if err != nil || len(v) != 5 {
		return guard.Config{}
	}
	c, _ := guard.Fields{Version: v[0], MaxTTL: v[1], Masters: v[2], LevelIs: v[3], To: v[4]}.Config()
	return c
}
