package redlock

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/outcome"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/script"
)

// spelt reads a reply as redigo returns it from lines that a fuzzer can change
// well: _ is nil, :1 a number, +OK a status, -ERR an error, $text a bulk string,
// *2 an array of the two that follow. The bytes of a real reply are FuzzReplies's
// affair, of package pipeline.
func spelt(lines *[]string, depth int) any {
	if len(*lines) == 0 {
		return nil
	}
	line := (*lines)[0]
	*lines = (*lines)[1:]
	if line == "" {
		return []byte{}
	}
	rest := line[1:]
	switch line[0] {
	case '_':
		return nil
	case ':':
		n, _ := strconv.ParseInt(rest, 10, 64)
		return n
	case '+':
		return rest
	case '-':
		return redis.Error(rest)
	case '*':
		n, _ := strconv.Atoi(rest)
		all := []any{}
		for i := 0; i < n && i < 64 && depth < 8 && len(*lines) > 0; i++ {
			all = append(all, spelt(lines, depth+1))
		}
		return all
	case '$':
		return []byte(rest)
	default:
		return []byte(line)
	}
}

func speltReply(text string) any {
	lines := strings.Split(text, "\n")
	return spelt(&lines, 0)
}

// wantOneLine asks that people can be shown the text.
func wantOneLine(t *testing.T, what, text string) {
	t.Helper()
	if strings.ContainsFunc(text, unicode.IsControl) {
		t.Errorf("%s is not one line of text: %q", what, text)
	}
	if len(text) > 16<<10 {
		t.Errorf("%s has %d bytes", what, len(text))
	}
}

const longestLeft = 365 * 24 * time.Hour

// FuzzScriptReplies reads whatever a server answers to the scripts that tell who
// holds a lock: what is no such answer is refused, and what is taken for one can
// be shown.
func FuzzScriptReplies(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		reply := speltReply(text)
		if h, ok := readHolder(reply); ok {
			wantSensible(t, h)
		}
		if m, ok := readMasterHold(reply); ok {
			in := Inspection{Key: "key", Need: 1, Masters: []MasterHold{*m}}
			in.judge()
			wantOneLine(t, "the inspection", in.String())
			if m.Held != nil {
				wantSensible(t, (*outcome.Held)(m.Held))
			}
			for _, r := range m.Readers {
				if r.TTL < -1 || r.TTL > longestLeft {
					t.Errorf("a reader has %v left", r.TTL)
				}
			}
		}
		got, err := readTurn(reply, nil)
		if err != nil {
			if !errors.Is(err, pipeline.ErrProtocol) {
				t.Errorf("readTurn fails with %v", err)
			}
			wantOneLine(t, "the error of readTurn", err.Error())
			return
		}
		if got.held == nil || !isScore(got.score) {
			t.Errorf("%q is read as %+v", text, got)
		}
		if in := got.freeIn(nil, time.Second); in < 0 || in > time.Second {
			t.Errorf("it is looked at again in %v", in)
		}
	})
}

func wantSensible(t *testing.T, h *outcome.Held) {
	t.Helper()
	if h.TTL < -1 || h.TTL > longestLeft || h.Readers < 0 || len(h.Token) > maxToken || len(h.Key) > 2*maxKey {
		t.Errorf("read as %+v", h)
	}
	wantOneLine(t, "the holder", (*HeldError)(h).Error())
}

// FuzzVerdicts reads whatever a server answers to a question: only the very
// replies that the scripts have for it are votes.
func FuzzVerdicts(f *testing.F) {
	scripts := []*script.Script{nil, script.AcquireAll, script.AcquireAny, script.ReaderAcquire}
	f.Fuzz(func(t *testing.T, text string, kind, op uint8, candidates uint8) {
		reply := speltReply(text)
		r := asked([]operation{opLock, opExtend, opAdopt, opVerify, opRelease, opDowngrade}[op%6], nil, 0)
		if r.op == opLock {
			if r.script = scripts[int(kind)%len(scripts)]; r.script == script.AcquireAny {
				r.Tally().Votes = make([]int, 1+candidates%8)
			}
		}
		votes := r.Tally().Votes
		a := r.answerToReply(reply)
		n, isNumber := reply.(int64)
		if a.Verdict == ballot.Agreed {
			switch {
			case r.op == opLock && r.script == nil:
				if reply != any("OK") {
					t.Errorf("SET answered %v: a vote", reply)
				}
			case !isNumber || n < 1 || len(votes) == 0 && n != 1 || len(votes) > 0 && n > int64(len(votes)):
				t.Errorf("%v answered %v: a vote", r.op, reply)
			}
		}
		if a.Candidate < 0 || a.Candidate > len(votes) {
			t.Errorf("a vote for candidate %d of %d", a.Candidate, len(votes))
		}
		if (a.Verdict == ballot.Failed) != (a.Err != nil) {
			t.Errorf("verdict %v with error %v", a.Verdict, a.Err)
		}
		if a.Err != nil {
			wantOneLine(t, "the error", a.Err.Error())
		}
		released, told := new(handOver).split(reply)
		if m, ok := released.(int64); told != nobody && (!isNumber || !ok || m < 0 || m > 9) {
			t.Errorf("%v is split into %v and %v", reply, released, told)
		}
	})
}

// FuzzOwner reads an owner's name from whatever stands in Redis.
func FuzzOwner(f *testing.F) {
	f.Fuzz(func(t *testing.T, token string) {
		owner := ownerOf(token)
		if owner != "" && !strings.HasPrefix(token, owner+":") {
			t.Errorf("the owner of %q is %q", token, owner)
		}
		wantOneLine(t, "the holder", (&HeldError{Type: "string", Token: token, Owner: owner}).Error())
		if checkOwner(owner) == nil {
			again := newToken(nil, tokenPrefix(owner, "client"))
			if got := ownerOf(again); got != owner {
				t.Errorf("%q is the token of %q, read as %q", again, owner, got)
			}
		}
	})
}
