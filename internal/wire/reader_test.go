package wire

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/outcome"
)

// Only the exact replies are votes, and what is a yes of SET is none of a
// script's.
func TestRepliesToAnAcquisitionAreReadStrictly(t *testing.T) {
	replies := []any{
		nil, "OK", "ok", "", []byte("OK"), []byte("1"), int64(0), int64(1), int64(-1), int64(2), int64(3), int64(4), int64(5),
		[]any{}, []any{int64(1)}, []any{"OK"}, redis.Error("ERR"), 1.0, true,
	}
	for _, test := range []struct {
		kind  *Kind
		votes map[any]ballot.Verdict
	}{
		{Plain, map[any]ballot.Verdict{"OK": ballot.Agreed, nil: ballot.Refused}},
		{Reader, map[any]ballot.Verdict{int64(1): ballot.Agreed, int64(0): ballot.Refused, int64(4): ballot.Refused}},
		{Set, map[any]ballot.Verdict{int64(1): ballot.Agreed, int64(0): ballot.Refused}},
	} {
		for _, reply := range replies {
			want := ballot.Failed
			for vote, v := range test.votes {
				if reflect.DeepEqual(reply, vote) {
					want = v
				}
			}
			a := askedOf(OpLock, test.kind, 0).answerToReply(reply)
			if a.Verdict != want || (a.Err == nil) != (want != ballot.Failed) || (a.held == nil) != (want != ballot.Refused) {
				t.Errorf("%v: %T %v is read as %+v: want verdict %d", test.kind.Name(), reply, reply, a, want)
			}
		}
	}
}

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
