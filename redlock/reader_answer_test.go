package redlock

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// Only the exact replies are votes, and what is a yes of SET is none of a
// script's.
func TestRepliesToAnAcquisitionAreReadStrictly(t *testing.T) {
	replies := []any{
		nil, "OK", "ok", "", []byte("OK"), []byte("1"), int64(0), int64(1), int64(-1), int64(2), int64(3), int64(4), int64(5),
		[]any{}, []any{int64(1)}, []any{"OK"}, redis.Error("ERR"), 1.0, true,
	}
	for _, test := range []struct {
		asked *script.Script
		votes map[any]verdict
	}{
		{nil, map[any]verdict{"OK": agreed, nil: refused}},
		{script.ReaderAcquire, map[any]verdict{int64(1): agreed, int64(0): refused, int64(4): refused}},
		{script.Extend, map[any]verdict{int64(1): agreed, int64(0): refused}}, // any other script that acquires
	} {
		for _, reply := range replies {
			want := failed
			for vote, v := range test.votes {
				if reflect.DeepEqual(reply, vote) {
					want = v
				}
			}
			r := &round{op: opLock, script: test.asked}
			a := r.read(&pipeline.Call{Reply: reply, Sent: true})
			if a.verdict != want || (a.err == nil) != (want != failed) || (a.held == nil) != (want != refused) {
				t.Errorf("script %v: %T %v is read as %+v: want verdict %d", test.asked, reply, reply, a, want)
			}
		}
	}
}

func TestReadersAreReadFromTheHolderScript(t *testing.T) {
	for _, test := range []struct {
		kind, value string
		want        HeldError
	}{
		{"zset", "3", HeldError{Type: "zset", Readers: 3, TTL: 1e9}},
		{"zset", "", HeldError{Type: "zset", TTL: 1e9}},
		{"zset", "many", HeldError{Type: "zset", TTL: 1e9}},
		{"string", "3", HeldError{Type: "string", Token: "3", TTL: 1e9}},
		{"hash", "", HeldError{Type: "hash", TTL: 1e9}},
	} {
		h, ok := readHolder([]any{[]byte(test.kind), []byte(test.value), int64(1000)})
		if !ok || *h != test.want {
			t.Errorf("%s: %+v, want %+v", fmt.Sprint(test.kind, " ", test.value), h, test.want)
		}
	}
}
