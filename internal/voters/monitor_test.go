package voters

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/quorum"
)

// A client that has never seen a marker on a master that others know leaves it to them for a while,
// and says until when. Then it looks: the others may be gone, and if they have given the master a
// marker, only a look shows it.
func TestMasterKnownToOthersIsAdoptedAtTheReportedTime(t *testing.T) {
	inFleet(t, func(f *fleet) {
		c := guard.Config{Level: guard.Standard, MaxTTL: time.Second, Masters: fleetOf, Drift: drift.Default}
		newMonitor := func() *Monitor {
			g := New(Config{
				Group: &quorum.Group{Masters: f.Pipelines(nil), Need: fleetOf/2 + 1, Clock: drift.Cumulative(drift.System()), Closing: context.Background()},
				Guard: c,
			})
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			return g
		}
		g := newMonitor()
		f.wantVotes(g, fleetOf) // declared
		g.Close()
		f.All[0].FlushAll()
		conn, err := f.All[0].Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rc := redis.NewConn(conn, 0, 0)
		defer rc.Close()
		if _, err := rc.Do("HSET", guard.Sighting, "known", "1"); err != nil {
			t.Fatal(err)
		}
		g = newMonitor()
		defer g.Close()
		why := g.Standings()[0].Why
		if why == nil || why.Cause != guard.NoMarker || why.Left < c.MaxTTL/2 {
			t.Fatalf("want a master that is left to others for a while: %+v", why)
		}
		time.Sleep(why.Left + 10*time.Millisecond)
		synctest.Wait()
		if how := f.All[0].Field(guard.Key, "how"); how != guard.HowEmptied {
			t.Errorf("%v later its marker is %q: %v", why.Left, how, g.Standings()[0].Why)
		}
	})
}
