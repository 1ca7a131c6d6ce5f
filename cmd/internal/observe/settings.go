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

// settingsBound is for the masters to tell. The attempt that follows waits for connections too: both take ConnectBound.
const settingsBound = app.ConnectBound - 500*time.Millisecond

// The least time for the other masters, once one has told, and once another has said the same.
const (
	afterOne = 250 * time.Millisecond
	afterTwo = 25 * time.Millisecond
)

// SettingsOf is the settings that the markers of a quorum name, as soon as they are
// known. Where no quorum names the same in time it is those that most markers name.
// sure: a quorum does. found: any marker does.
func SettingsOf(ctx context.Context, p *pool.Pool) (fleet guard.Config, found, sure bool) {
	ctx, cancel := context.WithTimeout(ctx, settingsBound)
	masters := mastersOf(p)
	told := make(chan guard.Config, len(masters)) // of each one; the zero Config: it names none
	var wg sync.WaitGroup
	defer wg.Wait() // for those that are not needed
	defer cancel()
	for _, m := range masters {
		wg.Go(func() { told <- m.settings(ctx) })
	}
	began := time.Now()
	votes, need := map[guard.Config]int{}, quorum.Need(len(masters))
	for left := len(masters) - 1; left >= 0 && votes[fleet] < need; left-- {
		c := <-told
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
		// Who is silent for ten times as long is frozen, or is not needed to know it.
		enough := time.AfterFunc(max(least, 9*time.Since(began)), cancel)
		defer enough.Stop()
	}
	return fleet, found, votes[fleet] >= need
}

// settings is what the master's marker says of its fleet.
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
