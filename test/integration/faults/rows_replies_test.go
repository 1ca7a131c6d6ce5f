package faults

import (
	"fmt"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/test/integration/internal/refusal"
)

// replyRows are about masters that answer wrongly. Tests elsewhere check what the library makes of
// each answer. These rows check that the other masters go on beside it.
func replyRows() []row {
	return []row{{
		fault:  "two masters answer with garbage, wrong types, lengths without end, nothing at all, and hang up",
		expect: "nothing is felt; no memory is taken for what lengths claim",
		setup:  setup{lines: true},
		run: func(r *run) {
			wrong := wrongReplies()
			lines := r.m.lines
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
			r.heal(func() error { return r.m.Heal(1, 3) })
			r.recovers(true)
			r.litter, r.queues = rowTTL, true
			r.unfelt()
			r.note = fmt.Sprintf("%d wrong answers", lines[1].Garbled()+lines[3].Garbled())
			r.memory = 256 << 20 // `$2147483647` is eight times that
		},
	}, {
		fault:  "two masters refuse to write: OOM, NOREPLICAS, MISCONF, BUSY, READONLY, one after the other",
		expect: "nothing is felt; nothing is left; a script that keeps a master busy is not killed",
		level:  levelStandard,
		run: func(r *run) {
			r.steady()
			r.fault(func() error { return nil }, 1, 3)
			all := r.m.cluster.Masters
			for _, f := range refusal.States {
				for _, i := range []int{1, 3} {
					r.must(f.Start(all[i]))
					r.must(r.says(i, f.Word))
				}
				r.progress(now(), 20)
				for _, i := range []int{1, 3} {
					r.must(r.says(i, f.Word)) // still
					r.must(f.Finish(all[i]))
				}
			}
			r.heal(func() error { return nil })
			r.recovers(true)
			r.litter, r.queues = rowTTL, true // releases were refused, too
			r.unfelt()
		},
	}, {
		fault:  "two masters take away EVALSHA, DEL, GET and PEXPIRE, one after the other",
		expect: "nothing is felt; each master abstains and names the command until it is permitted again",
		level:  levelStandard,
		setup:  setup{config: redistest.Config{ACL: []string{"user default on nopass ~* &* +@all"}}},
		run: func(r *run) {
			r.steady()
			r.fault(func() error { return nil }, 1, 3)
			permit := func(i int, rule string) {
				_, err := r.m.Do(i, "ACL", "SETUSER", "default", rule)
				r.must(err)
			}
			for _, command := range []string{"EVALSHA", "DEL", "GET", "PEXPIRE"} {
				for _, i := range []int{1, 3} {
					permit(i, "-"+command)
				}
				for _, i := range []int{1, 3} {
					r.abstains(i, "refuses "+command)
				}
				r.progress(now(), 20)
				for _, i := range []int{1, 3} {
					permit(i, "+"+command)
				}
			}
			r.heal(func() error { return nil })
			r.recovers(true)
			r.litter, r.queues = rowTTL, true // releases were refused, too
			r.unfelt()
		},
	}, {
		fault:  "a key of another type on three masters, wanted by a client beside the others",
		expect: "ErrTaken that names the type; never overwritten; nothing is felt",
		run: func(r *run) {
			const key, field = "typed", "precious"
			r.steady()
			r.fault(func() error {
				for i := range 3 {
					if _, err := r.m.Do(i, "HSET", key, field, "data"); err != nil {
						return err
					}
				}
				return nil
			})
			wants := r.specs[0]
			wants.Workers = []worker{{Do: doOwn, Keys: []string{key}, Pace: 20 * time.Millisecond}}
			wants.Idle, wants.Stranger = true, true
			c := r.client(wants)
			ops := r.awaitOps(5, of(c.number))
			for _, o := range ops {
				if o.Failed != failedTaken || !strings.Contains(o.Text, "hash") {
					r.Errorf("who wants a key of another type was told %q: %s", o.Failed, o.Text)
				}
			}
			r.must(c.end())
			r.progress(r.faultIn, 10)
			for i := range 3 {
				if value, err := redis.String(r.m.Do(i, "HGET", key, field)); value != "data" {
					r.Errorf("master %d has %q (%v) where somebody's data was", i, value, err)
				}
				_, err := r.m.Do(i, "DEL", key)
				r.must(err)
			}
			r.healAt = now()
			r.unfelt()
		},
	}}
}

// wrongReplies are what a master may send instead of an answer.
func wrongReplies() []string {
	return []string{
		":2\r\n", "$-1\r\n", "*-1\r\n", "*2\r\n:1\r\n:1\r\n", "$2\r\nOK\r\n", "+NO\r\n", "+QUEUED\r\n", ":-1\r\n", ":99999999999999999999\r\n",
		"$2147483647\r\n", "$9223372036854775807\r\n", "$18446744073709551615\r\n", "*2147483647\r\n", "$-2\r\n",
		strings.Repeat("*1\r\n", 1000) + ":1\r\n",
		"+O", "$5\r\nab", "*2\r\n:1\r\n", "", // and then the connection ends
		"HTTP/1.1 400 Bad Request\r\n\r\n", "\x00\xff\r\n", "\r\n\r\n", "+OK\n", strings.Repeat("x", 1<<17),
	}
}

// says waits until a master refuses a write with a word.
func (r *run) says(i int, word string) error {
	r.Helper()
	var err error
	for deadline := time.Now().Add(settleBound); time.Now().Before(deadline); time.Sleep(lookEvery) {
		if _, err = r.m.Do(i, "SET", "refused", "x", "PX", 1); err != nil && strings.Contains(err.Error(), word) {
			return nil
		}
	}
	return fmt.Errorf("master %d does not say %s, but %v", i, word, err)
}
