package wire

import (
	"fmt"
	"testing"

	"github.com/redquorum/redquorum/internal/outcome"
)

func TestReadersAreReadFromTheHolderScript(t *testing.T) {
	for _, test := range []struct {
		kind, value string
		want        outcome.Held
	}{
		{"zset", "3", outcome.Held{Type: "zset", Readers: 3, TTL: 1e9}},
		{"zset", "", outcome.Held{Type: "zset", TTL: 1e9}},
		{"zset", "many", outcome.Held{Type: "zset", TTL: 1e9}},
		{"string", "3", outcome.Held{Type: "string", Token: "3", TTL: 1e9}},
		{"hash", "", outcome.Held{Type: "hash", TTL: 1e9}},
	} {
		h, ok := readHolder([]any{[]byte(test.kind), []byte(test.value), int64(1000)})
		if !ok || *h != test.want {
			t.Errorf("%s: %+v, want %+v", fmt.Sprint(test.kind, " ", test.value), h, test.want)
		}
	}
}
