package wire

import (
	"errors"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
)

// askedOf is a question to the only master: what it asks for and, of an acquisition, of
// which kind. With candidates the master may grant one of so many.
func askedOf(op Op, k *Kind, candidates int) *Ask {
	w := New(Config{Ballots: ballot.Config{Masters: make([]*pipeline.Pipeline, 1), Need: 1}, Clock: drift.System()})
	a := w.newAsk(op)
	if k != nil {
		a.kind, a.read = k, k.readGrant
	}
	if candidates > 0 {
		a.Tally().Votes = make([]int, candidates)
	}
	return a
}

// A readAnswer is what is made of the master's call.
type readAnswer struct {
	ballot.Answer
	*fact
}

func (a *Ask) answerTo(c *pipeline.Call) readAnswer {
	return readAnswer{a.Read(c), &a.facts[0]}
}

// answerToReply is answerTo for a reply without an error.
func (a *Ask) answerToReply(reply any) readAnswer {
	return a.answerTo(&pipeline.Call{Reply: reply, Sent: true})
}

// What a master says that may not vote is not told as the reason: it abstains, also
// where it has refused, and where its answer came late.
func TestAMasterThatMayNotVoteIsToldToAbstain(t *testing.T) {
	abstains := &guard.AbstainError{Cause: guard.Quarantined}
	for name, reply := range map[string]any{"granted": "OK", "refused": nil} {
		for _, late := range []bool{false, true} {
			a := askedOf(OpLock, Plain, 0)
			a.Read(&pipeline.Call{Reply: reply, Sent: true})
			a.Answers()[0] = ballot.Answer{Verdict: ballot.Failed, Err: abstains, Late: late}
			if held, err := a.Reason(0); held != nil || !errors.Is(err, abstains) {
				t.Errorf("%s, late %v: told as %v, %v", name, late, held, err)
			}
		}
	}
}

// Only the exact replies are votes, each for its own sort of question.
func TestRepliesToAcquisitionsAreReadStrictly(t *testing.T) {
	type counted struct {
		verdict   ballot.Verdict
		candidate int
	}
	nobody := counted{verdict: ballot.Failed}
	yes, no := counted{verdict: ballot.Agreed}, counted{verdict: ballot.Refused}
	questions := map[string]*Ask{
		"set": askedOf(OpLock, Plain, 0),
		"all": askedOf(OpLock, Set, 0),
		"any": askedOf(OpLock, AnyOf, 3),
	}
	for _, test := range []struct {
		reply         any
		err           error
		set, all, any counted
	}{
		{reply: "OK", set: yes, all: nobody, any: nobody},
		{reply: nil, set: no, all: nobody, any: nobody},
		{reply: int64(0), set: nobody, all: no, any: no},
		{reply: int64(1), set: nobody, all: yes, any: counted{ballot.Agreed, 1}},
		{reply: int64(2), set: nobody, all: nobody, any: counted{ballot.Agreed, 2}},
		{reply: int64(3), set: nobody, all: nobody, any: counted{ballot.Agreed, 3}},
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
		{reply: "OK", err: errors.New("lost"), set: nobody, all: nobody, any: nobody},
		{reply: int64(1), err: errors.New("lost"), set: nobody, all: nobody, any: nobody},
	} {
		for name, want := range map[string]counted{"set": test.set, "all": test.all, "any": test.any} {
			a := questions[name].answerTo(&pipeline.Call{Reply: test.reply, Err: test.err, Sent: true})
			if got := (counted{a.Verdict, a.Candidate}); got != want {
				t.Errorf("%s: reply %#v (%v) is read as %+v, want %+v", name, test.reply, test.err, got, want)
			}
			if (a.Err != nil) != (a.Verdict == ballot.Failed) {
				t.Errorf("%s: reply %#v is %v and has error %v", name, test.reply, a.Verdict, a.Err)
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
	for op, reset := range map[Op]ballot.Verdict{
		OpExtend: ballot.Refused, OpDowngrade: ballot.Refused,
		OpAdopt: ballot.Failed, OpVerify: ballot.Failed, OpRelease: ballot.Failed,
	} {
		for code, want := range map[int64]ballot.Verdict{
			0: ballot.Refused, 1: ballot.Agreed, 2: reset, 3: ballot.Refused,
			4: ballot.Failed, -1: ballot.Failed, 10: ballot.Failed,
		} {
			if a := askedOf(op, nil, 0).answerToReply(code); a.Verdict != want {
				t.Errorf("%v was answered %d: verdict %d, want %d", op, code, a.Verdict, want)
			}
		}
	}
}
