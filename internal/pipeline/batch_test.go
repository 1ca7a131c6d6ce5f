package pipeline

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var testScripts = []*BatchScript{
	{SHA: "sha-a", Args: 1, Last: AppendBulk(nil, "me"), Ints: 1},
	{SHA: "sha-b", Args: 1, Last: AppendBulk(nil, "me"), Ints: 3},
	{SHA: "sha-c", Args: 1, Last: AppendBulk(nil, "me"), Ints: 1},
}

// part makes a call that can be joined: a command with a key and a token.
func (w *waiter) part(j *BatchScript, key string) *waiter {
	b := AppendBulk(AppendArray(nil, 3), w.call.Cmd)
	at := len(b)
	b = AppendBulk(b, key)
	keyEnd := len(b)
	b = AppendBulk(b, "token-"+key)
	w.call.Encoded = b
	w.call.Batch = BatchPart{Script: j, Keys: [3]Piece{PieceOf(at, keyEnd)}, Args: PieceOf(keyEnd, len(b))}
	w.call.Key = 1 + uint64(key[0])
	return w
}

// Calls for one key stay in order. A call whose key is unknown stays in order with all others. No
// call is lost or sent twice.
func TestJoiningKeepsTheOrderOfEachKey(t *testing.T) {
	var j batcher
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 1))
		var batch []*Call
		for range random.IntN(200) {
			w := newWaiter(t, "X")
			key := string(rune('a' + random.IntN(1+random.IntN(100))))
			switch random.IntN(10) {
			case 0: // unknown
			case 1, 2, 3:
				w.call.Key = 1 + uint64(key[0])
			default:
				w.part(testScripts[random.IntN(3)], key)
			}
			batch = append(batch, w.call)
		}
		out, ok := j.makeBatches(slices.Clone(batch))
		if !ok {
			continue
		}
		place := make(map[*Call]int) // of the command that carries it
		for i, c := range out {
			parts := []*Call{c}
			if c.batch != nil {
				if parts = c.batch.calls; len(parts) < 2 || len(parts) > mostInBatch {
					t.Fatalf("seed %d: a batch of %d", seed, len(parts))
				}
			}
			for k, part := range parts {
				if _, twice := place[part]; twice {
					t.Fatalf("seed %d: there twice", seed)
				}
				place[part] = i<<16 + k
				if c.batch != nil && part.Batch.Script != parts[0].Batch.Script {
					t.Fatalf("seed %d: different things in one command", seed)
				}
			}
		}
		if len(place) != len(batch) {
			t.Fatalf("seed %d: %d of %d calls", seed, len(place), len(batch))
		}
		for i, a := range batch {
			for _, b := range batch[i+1:] {
				together := a.Batch.Script != nil && a.Batch.Script == b.Batch.Script // their order does not matter
				bothJoin := a.Batch.Script != nil && b.Batch.Script != nil && a.Key != b.Key
				if (a.Key == b.Key || a.Key == 0 || b.Key == 0) && !together && !bothJoin && place[a] >= place[b] {
					t.Fatalf("seed %d: a call about key %d overtook one about %d", seed, b.Key, a.Key)
				}
			}
		}
	}
}

func TestABatchHasAllKeysThenAllArguments(t *testing.T) {
	calls := func(keys, second, third string) (all []*Call) {
		for _, key := range keys {
			w := newWaiter(t, "X").part(testScripts[0], string(key))
			for i, which := range []string{1: second, 2: third} {
				if strings.ContainsRune(which, key) {
					at := len(w.call.Encoded) // only the batch is sent
					w.call.Encoded = AppendBulk(w.call.Encoded, fmt.Sprint(i, "-", string(key)))
					w.call.Batch.Keys[i] = PieceOf(at, len(w.call.Encoded))
				}
			}
			all = append(all, w.call)
		}
		return all
	}
	for _, test := range []struct {
		keys, second, third string
		want                []any
	}{
		{"xy", "", "", []any{2, "x", "y", "token-x", "token-y", "me"}},
		{"xy", "xy", "", []any{4, "x", "y", "1-x", "1-y", "token-x", "token-y", "me"}},
		{"xyz", "z", "", []any{4, "z", "x", "y", "1-z", "token-z", "token-x", "token-y", "me"}},
		{"xyz", "y", "xyz", []any{7, "y", "x", "z", "1-y", "2-y", "2-x", "2-z", "token-y", "token-x", "token-z", "me"}},
	} {
		var j batcher
		out, ok := j.makeBatches(calls(test.keys, test.second, test.third))
		if !ok || len(out) != 1 {
			t.Fatalf("%v %v", out, ok)
		}
		if got, want := string(out[0].Encoded), string(AppendCommand(nil, "EVALSHA", append([]any{"sha-a"}, test.want...)...)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// queueJoined queues releases of the keys, and another command between them, for one flush.
func queueJoined(t *testing.T, p *Pipeline, g *gate, keys string) (all []*waiter, other *waiter) {
	t.Helper()
	for i, key := range keys {
		if i == 1 {
			other = newWaiter(t, "GET", "k")
			other.call.Key = 99
			other.queue(p)
		}
		w := newWaiter(t, "DEL", string(key)).part(testScripts[0], string(key))
		w.call.RetryUntil = time.Now().Add(time.Hour)
		all = append(all, w.queue(p))
	}
	g.next <- nil
	return all, other
}

// A batch reply that comes in pieces is left to redigo.
func TestEachCallGetsItsNumberOfABatchReply(t *testing.T) {
	const reply = "*3\r\n:1\r\n:0\r\n:21\r\n"
	for _, piece := range []int{1, len(reply)} {
		synctest.Test(t, func(t *testing.T) {
			s, g, p := atGate(t)
			s.reply = func(c *fakeConn, args []string) string {
				if args[0] != "EVALSHA" {
					return "+OK\r\n"
				}
				for b := range slices.Chunk([]byte(reply), piece) {
					_, _ = c.Write(b)
					time.Sleep(time.Millisecond)
				}
				return ""
			}
			all, other := queueJoined(t, p, g, "abc")
			mustSucceed(t, 1, append(all, other)...)
			for i, want := range []any{int64(1), int64(0), int64(21)} {
				if c := all[i].call; c.Reply != want {
					t.Errorf("call %d: %v; want %v", i, c.Reply, want)
				}
			}
			if c := other.call; c.Reply != any("OK") {
				t.Errorf("%v", c.Reply)
			}
			synctest.Wait()
			if got := fmt.Sprint(s.conn(1).calls()); strings.Count(got, "EVALSHA") != 1 || strings.Contains(got, "DEL") {
				t.Errorf("sent %s", got)
			}
			if n := p.Stats().Commands; n != 4 {
				t.Errorf("%d commands counted, want 4", n)
			}
		})
	}
}

// A master that does not know the script, or does not permit it, gets no more batches on that
// connection.
func TestCallsOfARefusedBatchCanBeSentAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		s.reply = answers(map[string]string{"EVALSHA": "-NOSCRIPT No matching script.\r\n", "DEL": ":1\r\n"})
		all, other := queueJoined(t, p, g, "abc")
		for _, w := range all {
			if c := w.wait(); !IsNoScript(c.Err) || !c.BatchRefused || c.Reply != nil || !c.Sent {
				t.Errorf("%v, %v, apart: %t", c.Reply, c.Err, c.BatchRefused)
			}
		}
		alone := []*waiter{other}
		for range 2 { // one flush
			alone = append(alone, newWaiter(t, "DEL", "z").part(testScripts[0], "z").queue(p))
		}
		mustSucceed(t, 1, alone...)
		for _, w := range alone {
			if w.call.BatchRefused {
				t.Errorf("%s is worth asking alone", w.call.Cmd)
			}
		}
		got := fmt.Sprint(s.conn(1).calls())
		if strings.Count(got, "EVALSHA") != 1 || strings.Count(got, "DEL") != 2 {
			t.Errorf("sent %s", got)
		}
	})
}

// Each call gets its three numbers, or its reply behind all numbers. An error there is the error of
// that call alone. The check holds for all calls.
func TestEachCallGetsItsThreeNumbersOfABatchReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		s.reply = func(_ *fakeConn, args []string) string {
			switch {
			case args[0] == "FIRST", args[0] == "SECOND":
				return saysA
			case args[0] == "EVALSHA":
				return "*14\r\n:1\r\n:20\r\n:300\r\n:-1\r\n:0\r\n:0\r\n:0\r\n:0\r\n:300\r\n:-1\r\n:0\r\n:0\r\n*2\r\n:6\r\n$1\r\nx\r\n-FENCE bad\r\n"
			}
			return "+OK\r\n"
		}
		var all []*waiter
		for _, key := range "abcd" {
			w := newWaiter(t, "EVALSHA", "alone", string(key)).part(testScripts[1], string(key))
			w.call.Check = testCheck
			all = append(all, w.queue(p))
		}
		g.next <- nil
		for i, want := range []string{"[1 20 300]", "[6 [120]]", "[0 0 300]", "<nil>"} {
			c := all[i].wait()
			if got := fmt.Sprint(c.Reply); got != want || (c.Err != nil) != (i == 3) || c.BatchRefused || c.Said().Mark == "" {
				t.Errorf("call %d: %s, %v, mark %q; want %s", i, got, c.Err, c.Said().Mark, want)
			}
			if i == 3 && c.Err.Error() != "FENCE bad" {
				t.Errorf("%v", c.Err)
			}
		}
		synctest.Wait()
		if got := fmt.Sprint(s.conn(1).calls()); strings.Count(got, "EVALSHA") != 1 || strings.Count(got, "FIRST") != 1 {
			t.Errorf("sent %s", got)
		}
		if n := p.Stats().Commands; n < 6 {
			t.Errorf("%d commands counted, want 6", n)
		}
	})
}

// A reply that has not one number for each call ends the connection. Calls that are kept are sent
// again on the next one.
func TestAHostileBatchReplyCostsTheConnection(t *testing.T) {
	for _, reply := range []string{
		"*4\r\n:-1\r\n:1\r\n:1\r\n:1\r\n", "*2\r\n:1\r\n:1\r\n", "*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n", "*-1\r\n", "+OK\r\n",
		"*3\r\n:1\r\n$1\r\n1\r\n:1\r\n",
	} {
		inBubble(t, fmt.Sprintf("%q", reply), func(t *testing.T) {
			s, g, p := atGate(t)
			s.reply = func(c *fakeConn, args []string) string {
				switch {
				case args[0] == "EVALSHA" && c.number == 1:
					return reply
				case args[0] == "EVALSHA":
					return "*3\r\n:1\r\n:1\r\n:1\r\n"
				}
				return "+OK\r\n"
			}
			all, _ := queueJoined(t, p, g, "abc")
			synctest.Wait()
			if !all[0].pending() {
				t.Errorf("complete by %v, %v", all[0].call.Reply, all[0].call.Err)
			}
			g.next <- nil
			mustSucceed(t, 2, all...)
			for _, w := range all {
				if w.call.Reply != any(int64(1)) {
					t.Errorf("%v", w.call.Reply)
				}
			}
		})
	}
}

// A refusal is lost with its connection: BatchRefused is not set.
func TestARefusalOfABatchIsLostWithItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, p := atGate(t)
		s.reply = func(c *fakeConn, args []string) string {
			if args[0] == "FIRST" {
				_ = c.Close()
				return ""
			}
			return "-NOSCRIPT No matching script.\r\n"
		}
		var all []*waiter
		for _, key := range "ab" {
			w := newWaiter(t, "EVALSHA", "alone", string(key)).part(testScripts[1], string(key))
			w.call.Check = testCheck
			all = append(all, w.queue(p))
		}
		g.next <- nil
		for _, w := range all {
			if c := w.wait(); !errors.Is(c.Err, ErrConnectionLost) || c.BatchRefused {
				t.Errorf("%v, apart: %t", c.Err, c.BatchRefused)
			}
		}
	})
}
