package shards

import (
	"fmt"
	"testing"

	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/redlocktest"
)

func TestANewShardTakesItsShareOfTheKeysAndMovesNoOther(t *testing.T) {
	before, after := Shards{"a": nil, "b": nil, "c": nil}, Shards{"a": nil, "b": nil, "c": nil, "d": nil}
	count := make(map[string]int)
	for i := range 10_000 {
		key := fmt.Sprint("order:", i)
		was, is := before.Name(key), after.Name(key)
		if is != "d" && is != was {
			t.Errorf("%s moves from %s to %s", key, was, is)
		}
		count[is]++
	}
	for name := range after {
		if n := count[name]; n < 2350 || n > 2650 { // 2,500, and 3.5 standard deviations
			t.Errorf("shard %s has %d keys of 10,000", name, n)
		}
	}
}

func TestALockIsTakenOnTheMastersOfItsShardAlone(t *testing.T) {
	s := make(Shards)
	for _, name := range []string{"a", "b"} {
		client, err := redlock.Open(redlocktest.Start(t, 3))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		s[name] = client
	}
	used := make(map[string]bool)
	for i := 0; len(used) < 2; i++ {
		key := fmt.Sprint("order:", i)
		used[s.Name(key)] = true
		lock, err := s.Of(key).Lock(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		for name, client := range s {
			in, err := client.Inspect(t.Context(), key)
			if err != nil || (in.Verdict == redlock.VerdictHeld) != (name == s.Name(key)) {
				t.Errorf("%s, which belongs to %s, is %v on %s (%v)", key, s.Name(key), in.Verdict, name, err)
			}
		}
		if err := lock.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
