package quorum

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/pipeline"
)

var _ Candidate = (*pipeline.Pipeline)(nil)

// A fakeMaster is connected unless it is down.
type fakeMaster struct {
	name  string
	down  bool
	mute  bool // may not vote
	epoch uint64
}

func (m *fakeMaster) Name() string          { return m.name }
func (m *fakeMaster) Connected() bool       { return !m.down }
func (m *fakeMaster) Stats() pipeline.Stats { return pipeline.Stats{Epoch: m.epoch} }

// chooser chooses among masters of these names.
func chooser(names ...string) (*Chooser, []*fakeMaster) {
	masters, all := make([]*fakeMaster, len(names)), make([]Candidate, len(names))
	for i, name := range names {
		masters[i] = &fakeMaster{name: name, epoch: 1}
		all[i] = masters[i]
	}
	return NewChooser(all, func(i int) bool { return !masters[i].mute }), masters
}

func five() (*Chooser, []*fakeMaster) {
	return chooser("a:6379", "b:6379", "c:6379", "d:6379", "e:6379")
}

func key(i int) string { return fmt.Sprint("key-", i) }

// Clients of all versions have to agree: these pilots must not change.
func TestThePilotsAreFixed(t *testing.T) {
	c, masters := five()
	got := ""
	for i := range 10 {
		got += masters[c.Of(key(i), 0)].name[:1]
	}
	if want := "ecdebadddd"; got != want {
		t.Errorf("the pilots of ten keys are %q, want %q", got, want)
	}
}

func TestClientsWithMastersInAnotherOrderAgree(t *testing.T) {
	names := []string{"a:6379", "b:6379", "c:6379", "d:6379", "e:6379"}
	c, masters := chooser(names...)
	for range 20 {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		other, others := chooser(names...)
		for i := range 50 {
			if a, b := masters[c.Of(key(i), 0)].name, others[other.Of(key(i), 0)].name; a != b {
				t.Errorf("%s has pilot %s, with masters %v %s", key(i), a, names, b)
			}
		}
	}
}

func TestKeysAreSpreadOverTheMasters(t *testing.T) {
	c, masters := five()
	counted := make([]int, len(masters))
	const keys = 10_000
	for i := range keys {
		counted[c.Of(key(i), 0)]++
	}
	for i, n := range counted {
		if n < keys/6 || n > keys/4 {
			t.Errorf("master %d is the pilot of %d of %d keys", i, n, keys)
		}
	}
}

func TestOnlyTheKeysOfAMasterThatIsNotThereGetAnotherPilot(t *testing.T) {
	for name, leave := range map[string]func(c *Chooser, masters []*fakeMaster, i int){
		"down":         func(_ *Chooser, masters []*fakeMaster, i int) { masters[i].down = true },
		"may not vote": func(_ *Chooser, masters []*fakeMaster, i int) { masters[i].mute = true },
		"silent":       func(c *Chooser, _ []*fakeMaster, i int) { c.Silent(i) },
		"forbidden": func(c *Chooser, _ []*fakeMaster, i int) {
			c.Forbidden(i, &pipeline.ConfigError{What: "EVALSHA", Err: redis.Error("NOPERM")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, masters := five()
			before := make([]int, 200)
			for i := range before {
				before[i] = c.Of(key(i), 0)
			}
			leave(c, masters, 2)
			moved := 0
			for i, pilot := range before {
				now := c.Of(key(i), 0)
				switch {
				case pilot != 2 && now != pilot:
					t.Errorf("%s moved from %d to %d", key(i), pilot, now)
				case now == 2 || now == NoPilot:
					t.Errorf("%s has pilot %d", key(i), now)
				case pilot == 2:
					moved++
				}
				if passed := c.Of(key(i), 1<<2); passed != now {
					t.Errorf("%s has pilot %d, and %d where the caller passes over the master", key(i), now, passed)
				}
			}
			if moved == 0 {
				t.Error("no key moved")
			}
		})
	}
}

func TestWithoutAFitMasterThereIsNoPilot(t *testing.T) {
	c, masters := five()
	if got := c.Of("key", 1<<5-1); got != NoPilot {
		t.Errorf("all passed over: %d", got)
	}
	masters[0].down, masters[1].mute = true, true
	c.Silent(2)
	c.Forbidden(3, &pipeline.ConfigError{What: "EVALSHA", Err: redis.Error("NOPERM")})
	if got := c.Of("key", 1<<4); got != NoPilot {
		t.Errorf("nobody is fit: %d", got)
	}
	if got := c.Of("key", 0); got != 4 {
		t.Errorf("one is fit: %d", got)
	}
}

// A master is silent until it has answered every question that it did not answer in time.
func TestASilentMasterIsAPilotAgainWhenItHasAnsweredAll(t *testing.T) {
	c, _ := five()
	pilot := c.Of("key", 0)
	c.Silent(pilot)
	c.Silent(pilot)
	c.Answered(pilot)
	if got := c.Of("key", 0); got == pilot {
		t.Error("it is a pilot although an answer is missing")
	}
	c.Answered(pilot)
	if got := c.Of("key", 0); got != pilot {
		t.Errorf("it has answered, and the pilot is %d", got)
	}
}

// A refusal ends after its time, and with its connection.
func TestARefusalEnds(t *testing.T) {
	noPermission := &pipeline.ConfigError{What: "EVALSHA", Err: redis.Error("NOPERM")}
	synctest.Test(t, func(t *testing.T) {
		c, masters := five()
		pilot := c.Of("key", 0)
		want := func(what string, passedOver bool, refusals *Refusals) {
			t.Helper()
			if got := c.Of("key", refusals.Masters(c)); (got != pilot) != passedOver {
				t.Errorf("%s: the pilot is %d; passed over: want %v", what, got, passedOver)
			}
		}
		var none, refusals Refusals

		c.Forbidden(pilot, errors.New("WRONGTYPE"))
		want("an error that is no want of a permission", false, &none)
		c.Forbidden(pilot, fmt.Errorf("wrapped: %w", noPermission))
		want("forbidden", true, &none)
		time.Sleep(forbiddenFor - time.Nanosecond)
		want("forbidden, just before its end", true, &none)
		time.Sleep(time.Nanosecond)
		want("forbidden, at its end", false, &none)
		c.Forbidden(pilot, noPermission)
		masters[pilot].epoch++
		want("forbidden on the connection before", false, &none)

		refusals.Add(c, pilot)
		want("refused", true, &refusals)
		want("refused another caller", false, &none)
		time.Sleep(refusedFor - time.Nanosecond)
		want("refused, just before its end", true, &refusals)
		time.Sleep(time.Nanosecond)
		want("refused, at its end", false, &refusals)
		refusals.Add(c, pilot)
		masters[pilot].epoch++
		want("refused on the connection before", false, &refusals)
	})
}

func TestAChoiceAllocatesNothing(t *testing.T) {
	c, masters := five()
	masters[c.Of("key", 0)].down = true
	var refusals Refusals
	refusals.Add(c, c.Of("key", 0))
	if n := testing.AllocsPerRun(100, func() { c.Of("key", refusals.Masters(c)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
