package voters

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/quorum"
)

// looker is a Monitor that only looks.
func (f *fleet) looker(c guard.Config) *Monitor {
	f.T.Helper()
	g := New(Config{
		Group: &quorum.Group{Masters: f.Pipelines(nil), Need: fleetOf/2 + 1, Clock: drift.Cumulative(drift.System()), Closing: context.Background()},
		Guard: c, ReadOnly: true,
	})
	f.AtEnd(g.Close)
	return g
}

// look looks for as long as a tool does.
func (f *fleet) look(g *Monitor) *Look {
	ctx, cancel := context.WithTimeout(f.T.Context(), 1500*time.Millisecond)
	defer cancel()
	return g.Look(ctx)
}

// keys has every key of all masters, except the sightings and the lists, with the marker's fields.
func (f *fleet) keys() map[string]string {
	found := map[string]string{}
	for _, m := range f.All {
		if !m.Up() {
			continue
		}
		for _, key := range m.Keys() {
			if key == guard.Sighting || key == guard.ListKey {
				continue
			}
			found[m.Addr()+" "+key] = "there"
			for _, field := range []string{"v", "run", "replid", "since", "wall", "maxttl", "n", "level", "db", "how", "seen", "was", "by", "to"} {
				found[m.Addr()+" "+key+" "+field] = m.Field(key, field)
			}
		}
	}
	return found
}

func standard() guard.Config {
	return guard.Config{Level: guard.Standard, MaxTTL: time.Minute, Masters: fleetOf, Drift: drift.Default}
}

// causes are why the masters do not vote; "": one does.
func causes(l *Look) (list []string) {
	for i := range l.Standings {
		text := ""
		if why := l.Standings[i].Why; why != nil {
			text = why.Cause
		}
		list = append(list, text)
	}
	return list
}

func TestReadOnlyLookReportsWhatAClientWouldAndWritesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		new  bool // nobody has declared the fleet
		does func(f *fleet)
		want [fleetOf]string
	}{
		"a new fleet":    {true, func(*fleet) {}, [fleetOf]string{"no marker", "no marker", "no marker"}},
		"all well":       {false, func(*fleet) {}, [fleetOf]string{}},
		"one restarted":  {false, func(f *fleet) { f.Restart(true, 0) }, [fleetOf]string{"quarantined", "", ""}},
		"one emptied":    {false, func(f *fleet) { f.All[0].FlushAll() }, [fleetOf]string{"no marker", "", ""}},
		"all emptied":    {false, func(f *fleet) { f.each(func(i int) { f.All[i].FlushAll() }) }, [fleetOf]string{"no marker", "no marker", "no marker"}},
		"all restarted":  {false, func(f *fleet) { f.each(func(i int) { f.Restart(true, i) }) }, [fleetOf]string{"quarantined", "quarantined", "quarantined"}},
		"one down":       {false, func(f *fleet) { f.All[0].Kill() }, [fleetOf]string{"not connected", "", ""}},
		"one frozen":     {false, func(f *fleet) { f.All[0].Freeze() }, [fleetOf]string{"not connected", "", ""}},
		"a text as mark": {false, func(f *fleet) { _ = f.All[0].Set(guard.Key, "text", 0) }, [fleetOf]string{"marker is another's", "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				if !test.new {
					g, _, end := f.watch(f.Dialer())
					f.wantVotes(g, fleetOf)
					end()
				}
				test.does(f)
				before := f.keys()
				g := f.looker(standard())
				for range 3 { // once and again
					if got := causes(f.look(g)); !slices.Equal(got, test.want[:]) {
						t.Errorf("%q, want %q", got, test.want)
					}
					time.Sleep(2 * time.Second)
				}
				f.each(func(i int) { f.All[i].Thaw() })
				synctest.Wait()
				if after := f.keys(); !maps.Equal(before, after) {
					t.Errorf("there was %v, there is %v", before, after)
				}
			})
		})
	}
}

func (f *fleet) each(does func(i int)) {
	for i := range fleetOf {
		does(i)
	}
}

// A client's own look differs: it starts the quarantine that a tool only reports.
func TestAClientWritesWhatItJudges(t *testing.T) {
	inFleet(t, func(f *fleet) {
		g, _, end := f.watch(f.Dialer())
		f.wantVotes(g, fleetOf)
		end()
		f.Restart(true, 0)
		m := f.All[0]
		f.look(f.looker(standard()))
		if run := m.Field(guard.Key, "run"); run == m.RunID() {
			t.Error("a tool has written the marker")
		}
		g, conns, end := f.watch(f.Dialer())
		defer end()
		f.wantVotes(g, fleetOf-1)
		if run := m.Field(guard.Key, "run"); run != m.RunID() {
			t.Errorf("the marker is of the process %q, want %q", run, m.RunID())
		}
		for _, c := range conns {
			if sent := strings.Join(c.written(), ""); strings.Contains(sent, "$4\r\nlook\r\n") {
				t.Errorf("it only looks: %q", sent)
			}
		}
	})
}

func TestAToolLearnsTheSettingsOfTheFleetAndJudgesByThem(t *testing.T) {
	inFleet(t, func(f *fleet) {
		g, _, end := f.watch(f.Dialer()) // with a MaxTTL of a minute
		f.wantVotes(g, fleetOf)
		end()
		other := standard()
		other.MaxTTL = time.Second
		g = f.looker(other)
		l := f.look(g)
		if got := causes(l); !slices.Equal(got, []string{"other configuration", "other configuration", "other configuration"}) {
			t.Errorf("%q", got)
		}
		if m := l.Facts[0].Marker; m.MaxTTL != "60000" || m.LevelIs != "standard" || m.Masters != "3" {
			t.Errorf("%+v", m)
		}
		g.Use(standard())
		if got := causes(f.look(g)); !slices.Equal(got, []string{"", "", ""}) {
			t.Errorf("%q", got)
		}
	})
}
