package wire

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/ballot"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/quorum"
	"github.com/redquorum/redquorum/internal/token"
)

// spelt makes a reply as redigo returns it, from lines that a fuzzer can change easily: _ is
// nil, :1 a number, +OK a status, -ERR an error, $text a bulk string, *2 an array of the two
// that follow. FuzzReplies of package pipeline tests the bytes of real replies.
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

// wantOneLine checks that the text can be shown to users.
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

// FuzzScriptReplies reads any reply to the scripts that say who holds a lock. Replies of
// another format are rejected, and what is read from the others can be shown to users.
func FuzzScriptReplies(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		reply := speltReply(text)
		if h, ok := readHolder(reply); ok {
			wantSensible(t, h)
		}
		if state, ok := readKeyState(reply); ok {
			if state.Held != nil {
				wantSensible(t, state.Held)
			}
			for _, r := range state.Readers {
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
		if got.Held == nil || !isScore(got.Score) {
			t.Errorf("%q is read as %+v", text, got)
		}
	})
}

func wantSensible(t *testing.T, h *quorum.Held) {
	t.Helper()
	if h.TTL < -1 || h.TTL > longestLeft || h.Readers < 0 || len(h.Token) > token.Max || len(h.Key) > MaxKey {
		t.Errorf("read as %+v", h)
	}
	wantOneLine(t, "the type", h.Type)
	wantOneLine(t, "the owner", h.Owner)
}

// FuzzVerdicts reads any reply to a question. Only the exact replies of its command are votes.
func FuzzVerdicts(f *testing.F) {
	kinds := []*Kind{Plain, Set, Reader}
	f.Fuzz(func(t *testing.T, text string, kind, op uint8) {
		reply := speltReply(text)
		what := []Op{OpLock, OpExtend, OpAdopt, OpVerify, OpRelease}[op%5]
		r := askedOf(what, nil)
		if what == OpLock {
			k := kinds[int(kind)%len(kinds)]
			r = askedOf(what, k)
		}
		a := r.answerToReply(reply)
		n, isNumber := reply.(int64)
		if a.Verdict == ballot.Agreed {
			switch {
			case r.op == OpLock && r.kind == Plain:
				if reply != any("OK") {
					t.Errorf("SET answered %v: a vote", reply)
				}
			case n != 1:
				t.Errorf("%v answered %v: a vote", r.op, reply)
			}
		}
		if (a.Verdict == ballot.Failed) != (a.Err != nil) {
			t.Errorf("verdict %v with error %v", a.Verdict, a.Err)
		}
		if a.Err != nil {
			wantOneLine(t, "the error", a.Err.Error())
		}
		released, successor := new(releaseAtPilot).split(reply)
		if m, ok := released.(int64); successor != Nobody && (!isNumber || !ok || m < 0 || m > 9) {
			t.Errorf("%v is split into %v and %v", reply, released, successor)
		}
	})
}
