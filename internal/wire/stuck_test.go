package wire

import (
	"testing"
	"time"
)

func TestNobodyReleasesWhatNeverExpiresOrIsNoLock(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind string
		ttl  time.Duration
		want bool
	}{
		{"string", time.Second, false},
		{"string", 0, false}, // its TTL is not known
		{"string", -1, true},
		{"zset", time.Second, false},
		{"list", time.Second, true},
		{"none", 0, false},
		{CalledType, 0, false},
		{"intent", 0, false},
		{"lease", time.Second, false},
		{"", 0, false},
	} {
		if got := Stuck(test.kind, test.ttl); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}
