package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
)

// replyRows are about masters that answer, but not as they should. What the
// library makes of each single answer, tests elsewhere say; here the others go
// on beside it.
func replyRows() []row {
	return []row{{
		fault:  "two masters answer with garbage, wrong types, lengths without end, nothing at all, and hang up",
		expect: "nothing is felt; no memory is taken for what lengths claim",
		on:     []kind{processes},
		setup:  setup{lines: true},
		run: func(r *run) {
			wrong := wrongReplies()
			lines := r.m.(*servers).lines
			r.steady()
			r.fault(func() error {
				for _, i := range []int{1, 3} {
					lines[i].Garble(30, wrong...) // most of a handshake and some votes pass
				}
				return nil
			}, 1, 3)
			for deadline := time.Now().Add(settleBound); lines[1].Garbled() < len(wrong) || lines[3].Garbled() < len(wrong); time.Sleep(lookEvery) {
				if time.Now().After(deadline) {
					r.Fatalf("within %v the masters gave %d and %d wrong answers, want %d at least", settleBound, lines[1].Garbled(), lines[3].Garbled(), len(wrong))
				}
			}
			r.progress(r.faultIn, 60)
			r.heal(func() error { return r.m.heal(1, 3) })
			r.recovers(true)
			r.litter, r.queues = rowTTL, true
			r.goesOn()
			r.quick()
			r.bounded()
			r.note = fmt.Sprintf("%d wrong answers", lines[1].Garbled()+lines[3].Garbled())
			r.memory = 256 << 20 // `$2147483647` is eight times that
		},
	}, {
		fault:  "two masters refuse to write: OOM, NOREPLICAS, MISCONF, BUSY, READONLY, one after the other",
		expect: "nothing is felt; nothing is left; a script that keeps a master busy is not killed",
		on:     []kind{processes}, level: levelStandard,
		run: func(r *run) {
			r.steady()
			r.fault(func() error { return nil }, 1, 3)
			for _, f := range refusals() {
				for _, i := range []int{1, 3} {
					r.must(f.start(r, i))
					r.must(r.says(i, f.word))
				}
				r.progress(now(), 20)
				for _, i := range []int{1, 3} {
					r.must(r.says(i, f.word)) // still
					r.must(f.finish(r, i))
				}
			}
			r.heal(func() error { return nil })
			r.recovers(true)
			r.litter, r.queues = rowTTL, true // releases were refused, too
			r.goesOn()
			r.quick()
			r.bounded()
		},
	}, {
		fault:  "one master takes the permission to write away, another one changes the password",
		expect: "nothing is felt; the one that cannot be dialled is named with the reason",
		on:     []kind{processes}, level: levelStandard,
		setup: setup{config: redistest.Config{ACL: []string{"user default on nopass ~* &* +@all"}}},
		run: func(r *run) {
			r.steady()
			r.fault(func() error {
				if _, err := r.m.do(1, "ACL", "SETUSER", "default", "-@write"); err != nil {
					return err
				}
				if _, err := r.m.do(3, "ACL", "SETUSER", "default", "resetpass", ">another"); err != nil {
					return err
				}
				_, err := r.m.do(3, "CLIENT", "KILL", "TYPE", "NORMAL")
				return err
			}, 1, 3)
			r.abstains(3, "NOAUTH")
			r.progress(now(), 20)
			r.heal(func() error {
				for _, i := range []int{1, 3} {
					if _, err := r.m.do(i, "ACL", "SETUSER", "default", "nopass", "+@all"); err != nil {
						return err
					}
				}
				return nil
			})
			r.recovers(true)
			r.litter, r.queues = rowTTL, true // releases were refused, too
			r.goesOn()
			r.quick()
			r.bounded()
		},
	}, {
		fault:  "a key of another type on three masters, wanted by a client beside the others",
		expect: "ErrTaken that names the type; never overwritten; nothing is felt",
		on:     []kind{processes},
		run: func(r *run) {
			const key, field = "typed", "precious"
			r.steady()
			r.fault(func() error {
				for i := range 3 {
					if _, err := r.m.do(i, "HSET", key, field, "data"); err != nil {
						return err
					}
				}
				return nil
			})
			wants := r.specs[0]
			wants.Workers = []worker{{Do: doOwn, Keys: []string{key}, Pace: 20 * time.Millisecond}}
			wants.Idle, wants.Stranger = true, true
			c := r.client(wants)
			told := r.told(c.number, 5)
			for _, o := range told {
				if o.Failed != failedTaken || !strings.Contains(o.Text, "hash") {
					r.Errorf("who wants a key of another type was told %q: %s", o.Failed, o.Text)
				}
			}
			r.must(c.end())
			r.progress(r.faultIn, 10)
			for i := range 3 {
				if value, err := redis.String(r.m.do(i, "HGET", key, field)); value != "data" {
					r.Errorf("master %d has %q (%v) where somebody's data was", i, value, err)
				}
				_, err := r.m.do(i, "DEL", key)
				r.must(err)
			}
			r.healAt = now()
			r.goesOn()
			r.quick()
			r.bounded()
		},
	}}
}

// wrongReplies are what a master may say instead of an answer.
func wrongReplies() []string {
	return []string{
		":2\r\n", "$-1\r\n", "*-1\r\n", "*2\r\n:1\r\n:1\r\n", "$2\r\nOK\r\n", "+NO\r\n", "+QUEUED\r\n", ":-1\r\n", ":99999999999999999999\r\n",
		"$2147483647\r\n", "$9223372036854775807\r\n", "$18446744073709551615\r\n", "*2147483647\r\n", "$-2\r\n",
		strings.Repeat("*1\r\n", 1000) + ":1\r\n",
		"+O", "$5\r\nab", "*2\r\n:1\r\n", "", // and the end
		"HTTP/1.1 400 Bad Request\r\n\r\n", "\x00\xff\r\n", "\r\n\r\n", "+OK\n", strings.Repeat("x", 1<<17),
	}
}

// A refusal is a state in which a master refuses to write, and the word by which
// it says so.
type refusal struct {
	word          string
	start, finish func(r *run, i int) error
}

func refusals() []refusal {
	set := func(name, value string) func(r *run, i int) error {
		return func(r *run, i int) error { _, err := r.m.do(i, "CONFIG", "SET", name, value); return err }
	}
	return []refusal{
		{"OOM", set("maxmemory", "1"), set("maxmemory", "0")},
		{"NOREPLICAS", set("min-replicas-to-write", "1"), set("min-replicas-to-write", "0")},
		{"MISCONF", (*run).failSnapshots, set("save", "")},
		{"BUSY", (*run).keepBusy, (*run).endScript},
		{
			"READONLY",
			func(r *run, i int) error { _, err := r.m.do(i, "REPLICAOF", "127.0.0.1", "1"); return err },
			func(r *run, i int) error { _, err := r.m.do(i, "REPLICAOF", "NO", "ONE"); return err },
		},
	}
}

func (r *run) failSnapshots(i int) error {
	if err := os.MkdirAll(filepath.Join(r.m.(*servers).cluster.Masters[i].Dir(), "dump.rdb", "in the way"), 0o700); err != nil {
		return err
	}
	for _, command := range [][]any{{"CONFIG", "SET", "save", "3600 1"}, {"BGSAVE"}} {
		if _, err := r.m.do(i, command[0].(string), command[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// keepBusy runs a script that ends only when it is killed, for which nobody
// waits.
func (r *run) keepBusy(i int) error {
	if _, err := r.m.do(i, "CONFIG", "SET", "lua-time-limit", "1"); err != nil {
		return err
	}
	conn, err := r.m.(*servers).cluster.Masters[i].Dial(r.Context())
	if err != nil {
		return err
	}
	r.Cleanup(func() { _ = conn.Close() })
	return errors.Join(conn.Send("EVAL", "while true do end", 0), conn.Flush())
}

func (r *run) endScript(i int) error {
	if _, err := r.m.do(i, "SCRIPT", "KILL"); err != nil {
		return err
	}
	var err error
	for deadline := time.Now().Add(settleBound); time.Now().Before(deadline); time.Sleep(lookEvery) {
		if _, err = r.m.do(i, "PING"); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the script on master %d was killed and has not ended: %w", i, err)
}

// says waits until a master answers a write with a word, or a script that
// writes.
func (r *run) says(i int, word string) error {
	r.Helper()
	var err error
	for deadline := time.Now().Add(settleBound); time.Now().Before(deadline); time.Sleep(lookEvery) {
		if _, err = r.m.do(i, "SET", "refused", "x", "PX", 1); err != nil && strings.Contains(err.Error(), word) {
			return nil
		}
	}
	return fmt.Errorf("master %d does not say %s, but %v", i, word, err)
}
