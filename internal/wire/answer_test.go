package wire

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
)

// askedOf returns a question to the only master. k is the kind of an acquisition, otherwise nil.
func askedOf(op Op, k *Kind) *Ask {
	w := New(Config{Ballots: ballot.Config{Group: &quorum.Group{Masters: make([]*pipeline.Pipeline, 1), Need: 1, Clock: drift.System()}}})
	a := w.newAsk(op)
	if k != nil {
		a.kind, a.read = k, k.readGrant
	}
	return a
}

// A readAnswer is the answer and the fact that were read from the master's call.
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

// For a master that may not vote, the reported reason is that it abstains, also if it refused
// or answered late.
func TestMasterThatMayNotVoteIsReportedAsAbstaining(t *testing.T) {
	abstains := &guard.AbstainError{Cause: guard.Quarantined}
	for name, reply := range map[string]any{"granted": "OK", "refused": nil} {
		for _, late := range []bool{false, true} {
			a := askedOf(OpLock, Plain)
			a.Read(&pipeline.Call{Reply: reply, Sent: true})
			a.Answers()[0] = ballot.Answer{Verdict: ballot.Failed, Err: abstains, Late: late}
			if held, err := a.reason(0); held != nil || !errors.Is(err, abstains) {
				t.Errorf("%s, late %v: told as %v, %v", name, late, held, err)
			}
		}
	}
}

// Only the exact replies are votes, and each kind has its own: the OK of SET is no vote if a
// script was asked.
func TestRepliesToAcquisitionsAreReadStrictly(t *testing.T) {
	const yes, no = ballot.Agreed, ballot.Refused
	name := map[*Kind]string{Plain: "plain", Reader: "reader", Set: "set"}
	replies := []any{
		nil, "OK", "ok", "", "1", "QUEUED", []byte("OK"), []byte("1"), int64(0), int64(1), int64(2), int64(3), int64(4), int64(5),
		int64(-1), int64(1) << 32, int64(1)<<32 + 1, int64(-1 << 63), []any{}, []any{int64(1)}, []any{"OK"}, 1.0, true,
	}
	for kind, votes := range map[*Kind]map[any]ballot.Verdict{
		Plain:  {"OK": yes, nil: no},
		Reader: {int64(1): yes, int64(0): no, int64(4): no},
		Set:    {int64(1): yes, int64(0): no},
	} {
		question := func() *Ask { return askedOf(OpLock, kind) }
		again := question()
		wants := func(a *Ask, reply any, err error, want ballot.Verdict) {
			t.Helper()
			got := a.answerTo(&pipeline.Call{Reply: reply, Err: err, Sent: true})
			if got.Verdict != want {
				t.Errorf("%v: reply %#v (%v) is read as %+v, want %+v", name[kind], reply, err, got, want)
			}
			if (got.Err != nil) != (got.Verdict == ballot.Failed) {
				t.Errorf("%v: reply %#v is %v and has error %v", name[kind], reply, got.Verdict, got.Err)
			}
		}
		for _, reply := range replies {
			want := ballot.Failed
			for vote, v := range votes {
				if reflect.DeepEqual(reply, vote) {
					want = v
				}
			}
			wants(again, reply, nil, want)
			a := question()
			if wants(a, reply, nil, want); (a.facts[0].held == nil) != (want != no) {
				t.Errorf("%v: reply %#v says that it is held by %+v", name[kind], reply, a.facts[0].held)
			}
			wants(again, reply, errors.New("lost"), ballot.Failed)
		}
		wants(again, nil, redis.Error("WRONGTYPE"), ballot.Failed)
		wants(again, redis.Error("ERR"), nil, ballot.Failed)
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

// A reply that the lock was set again is valid only for an extension, which asks for it.
func TestRepliesAboutALockThatIsOursAreReadStrictly(t *testing.T) {
	for op, reset := range map[Op]ballot.Verdict{
		OpExtend: ballot.Refused,
		OpAdopt:  ballot.Failed, OpVerify: ballot.Failed, OpRelease: ballot.Failed,
	} {
		for code, want := range map[int64]ballot.Verdict{
			0: ballot.Refused, 1: ballot.Agreed, 2: reset, 3: ballot.Refused,
			4: ballot.Failed, -1: ballot.Failed, 10: ballot.Failed,
		} {
			if a := askedOf(op, nil).answerToReply(code); a.Verdict != want {
				t.Errorf("%v was answered %d: verdict %d, want %d", op, code, a.Verdict, want)
			}
		}
	}
}

func TestAnUnexpectedReplyIsShownAsText(t *testing.T) {
	err := unexpected([]any{[]byte("string"), int64(7), []any{[]byte("token")}})
	if want := `unexpected reply "[string 7 [token]]"`; !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v: want %s at its end", err, want)
	}
}

// After an error that may follow a write, it is not known whether there is something to release.
// This holds for SET and for the scripts.
func TestAMasterThatRefusesToWriteHasNothingToRelease(t *testing.T) {
	for reply, absent := range map[string]bool{
		"MISCONF Redis is configured to save RDB snapshots":                                        true,
		"OOM command not allowed when used memory > 'maxmemory'. script: 0123, on @user_script:1.": true,
		"READONLY You can't write against a read only replica.":                                    true,
		"NOREPLICAS Not enough good replicas to write.":                                            true,
		"BUSY Redis is busy running a script.":                                                     true,
		"MASTERDOWN Link with MASTER is down":                                                      true,
		"NOPERM this user has no permissions to run the 'pexpire' command":                         false,
		"ERR Error running script: MISCONF":                                                        false,
		"WRONGTYPE Operation against a key holding the wrong kind of value":                        false,
	} {
		for _, op := range []Op{OpLock, OpAdopt, OpExtend} {
			a := askedOf(op, Plain)
			a.Answers()[0] = a.answerTo(&pipeline.Call{Err: redis.Error(reply), Sent: true}).Answer
			if got, want := a.Result().Absent == 1, absent && op != OpExtend; got != want {
				t.Errorf("%v answered by %q: absent %v, want %v", op, reply, got, want)
			}
		}
	}
}

// With a fencing token or in strict, every reply is read in this way.
func TestReadingTheAnswerOfAScriptAllocatesNothing(t *testing.T) {
	for name, read := range map[string]func(*Ask, *fact, any) ballot.Answer{
		"acquisition": readScriptedGrant, "extension": readScriptedCode,
	} {
		t.Run(name, func(t *testing.T) {
			a := askedOf(OpLock, Plain)
			var granted any = &pipeline.ThreeInts{1, 7, 0}
			var answer ballot.Answer
			if n := testing.AllocsPerRun(100, func() { answer = read(a, &a.facts[0], granted) }); n != 0 {
				t.Errorf("%v allocations", n)
			}
			if answer.Verdict != ballot.Agreed || a.facts[0].fence != 7 {
				t.Errorf("read as %+v with %+v", answer, a.facts[0])
			}
		})
	}
}
