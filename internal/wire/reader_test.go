package wire

import (
	"fmt"
	"testing"

	"github.com/redquorum/redquorum/internal/quorum"
)

func TestReadersAreReadFromTheHolderScript(t *testing.T) {
	for _, test := range []struct {
		kind, value string
		want        quorum.Held
	}{
		{"zset", "3", quorum.Held{Type: "zset", Readers: 3, TTL: 1e9, Masters: 1}},
		{"zset", "", quorum.Held{Type: "zset", TTL: 1e9, Masters: 1}},
		{"zset", "many", quorum.Held{Type: "zset", TTL: 1e9, Masters: 1}},
		{"string", "3", quorum.Held{Type: "string", Token: "3", TTL: 1e9, Masters: 1}},
		{"hash", "", quorum.Held{Type: "hash", TTL: 1e9, Masters: 1, Stuck: true}},
	} {
		h, ok := readHolder([]any{[]byte(test.kind), []byte(test.value), int64(1000)})
		if !ok || *h != test.want {
			t.Errorf("%s: %+v, want %+v", fmt.Sprint(test.kind, " ", test.value), h, test.want)
		}
	}
}
