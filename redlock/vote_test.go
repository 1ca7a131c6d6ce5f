package redlock

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/script"
)

// However the votes fall, an attempt at one of several keys is open for as long
// as some key can still get a quorum, and granted to the one that has it.
func TestVotesForSeveralKeysDecideAsEarlyAsTheyCan(t *testing.T) {
	for range 20_000 {
		total, keys := 1+rand.N(7), 2+rand.N(4)
		need := quorum.Need(total)
		r := &round{votes: make([]int, keys), tally: quorum.Tally{Total: total, Need: need}}
		votes := make([]int, keys)
		refused, failed := 0, 0
		for answered := 1; answered <= total; answered++ {
			switch n := rand.N(keys + 2); n {
			case keys:
				refused++
				r.tally.Refused++
			case keys + 1:
				failed++
				r.tally.Failed++
			default:
				votes[n]++
				r.vote(n + 1)
			}
			winner, possible := 0, false
			for i, n := range votes {
				if n >= need {
					winner = i + 1
				}
				possible = possible || n+total-answered >= need
			}
			want := quorum.Open
			switch {
			case winner != 0:
				want = quorum.Granted
			case total-failed < need:
				want = quorum.Unreachable
			case !possible:
				want = quorum.Refused
			}
			if got := r.tally.Outcome(); got != want {
				t.Fatalf("%d masters, votes %v, %d refused, %d failed: outcome %v, want %v", total, votes, refused, failed, got, want)
			}
			if winner != 0 && r.slot != winner {
				t.Fatalf("votes %v: number %d has won, want %d", votes, r.slot, winner)
			}
			if sum := r.tally.OK + r.tally.Refused + r.tally.Failed; sum != answered {
				t.Fatalf("votes %v: %d counted, %d answered", votes, sum, answered)
			}
		}
	}
}

// Only the exact replies are votes, each for its own sort of question.
func TestRepliesToAcquisitionsAreReadStrictly(t *testing.T) {
	type counted struct {
		verdict verdict
		slot    int
	}
	var nobody counted // a failure
	nobody.verdict = failed
	yes, no := counted{verdict: agreed}, counted{verdict: refused}
	questions := map[string]*round{
		"set": {op: opLock},
		"all": {op: opLock, script: script.AcquireAll},
		"any": {op: opLock, script: script.AcquireAny, votes: make([]int, 3)},
	}
	for _, test := range []struct {
		reply         any
		err           error
		set, all, any counted
	}{
		{reply: "OK", set: yes, all: nobody, any: nobody},
		{reply: nil, set: no, all: nobody, any: nobody},
		{reply: int64(0), set: nobody, all: no, any: no},
		{reply: int64(1), set: nobody, all: yes, any: counted{agreed, 1}},
		{reply: int64(2), set: nobody, all: nobody, any: counted{agreed, 2}},
		{reply: int64(3), set: nobody, all: nobody, any: counted{agreed, 3}},
		{reply: int64(4), set: nobody, all: nobody, any: nobody},
		{reply: int64(-1), set: nobody, all: nobody, any: nobody},
		{reply: int64(1) << 32, set: nobody, all: nobody, any: nobody},
		{reply: int64(1)<<32 + 1, set: nobody, all: nobody, any: nobody},
		{reply: int64(-1 << 63), set: nobody, all: nobody, any: nobody},
		{reply: "1", set: nobody, all: nobody, any: nobody},
		{reply: []byte("1"), set: nobody, all: nobody, any: nobody},
		{reply: []byte("OK"), set: nobody, all: nobody, any: nobody},
		{reply: "ok", set: nobody, all: nobody, any: nobody},
		{reply: "", set: nobody, all: nobody, any: nobody},
		{reply: "QUEUED", set: nobody, all: nobody, any: nobody},
		{reply: []any{int64(1)}, set: nobody, all: nobody, any: nobody},
		{reply: []any{}, set: nobody, all: nobody, any: nobody},
		{reply: 1.0, set: nobody, all: nobody, any: nobody},
		{reply: true, set: nobody, all: nobody, any: nobody},
		{err: redis.Error("WRONGTYPE"), set: nobody, all: nobody, any: nobody},
		{reply: int64(1), err: errors.New("lost"), set: nobody, all: nobody, any: nobody},
	} {
		for name, want := range map[string]counted{"set": test.set, "all": test.all, "any": test.any} {
			a := questions[name].read(&pipeline.Call{Reply: test.reply, Err: test.err, Sent: true})
			if got := (counted{a.verdict, a.slot}); got != want {
				t.Errorf("%s: reply %#v (%v) is read as %+v, want %+v", name, test.reply, test.err, got, want)
			}
			if (a.err != nil) != (a.verdict == failed) {
				t.Errorf("%s: reply %#v is %v and has error %v", name, test.reply, a.verdict, a.err)
			}
		}
	}
}

func TestRepliesOfHolderAmongAreReadStrictly(t *testing.T) {
	value := func(s string) any { return []byte(s) }
	for _, reply := range [][]any{
		{value("string"), value("x"), int64(5)},
		{value("string"), value("x"), int64(5), int64(5)},
		{value("string"), value("x"), int64(5), nil},
		{value("string"), value("x"), nil, value("b")},
		{nil, value("x"), int64(5), value("b")},
		{value("string"), "x", int64(5), value("b")},
		{value("string"), value("x"), int64(5), value("b"), value("b")},
	} {
		if h, ok := readHolder(reply); ok && h.Key != "" {
			t.Errorf("%q is read as %+v", reply, h)
		}
	}
	h, ok := readHolder([]any{value("string"), value("x"), int64(5), value("b")})
	if !ok || h.Key != "b" || h.Token != "x" || h.Type != "string" {
		t.Errorf("read as %+v, %v", h, ok)
	}
	h, ok = readHolder([]any{value("none"), value(""), int64(-2), value("b")})
	if !ok || h.Key != "" || h.Type != "none" {
		t.Errorf("a key that is free by now is read as %+v, %v", h, ok)
	}
}

// That a lock was set again is no answer to those who did not ask for it.
func TestRepliesAboutALockThatIsOursAreReadStrictly(t *testing.T) {
	for op, reset := range map[operation]verdict{
		opExtend: refused, opDowngrade: refused, opAdopt: failed, opVerify: failed, opRelease: failed,
	} {
		for code, want := range map[int64]verdict{0: refused, 1: agreed, 2: reset, 3: refused, 4: failed, -1: failed, 10: failed} {
			r := &round{op: op}
			if a := r.read(&pipeline.Call{Reply: code, Sent: true}); a.verdict != want {
				t.Errorf("%v was answered %d: verdict %d, want %d", op, code, a.verdict, want)
			}
		}
	}
}
