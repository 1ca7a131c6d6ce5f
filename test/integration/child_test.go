package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// childVariable turns the test binary into another process that takes part in a
// test, in the role that it names.
const childVariable = "REDQUORUM_INTEGRATION_CHILD"

// An order is what a child is told, and a report what it answers: one JSON value
// each, on standard input and output. The end of its input ends the child.
type order struct {
	Do    string // open, adopt, lock, hand over
	URLs  []string
	Key   string
	Token string
	TTL   time.Duration
}

type report struct {
	Token  string
	Failed string
	Is     []string // the sentinels that the error matches
}

// childMain carries out orders, of which the first opens the client.
func childMain(role string) int {
	switch role {
	case "holder":
	case "contender":
		return contenderMain()
	case "newcomer":
		return newcomerMain()
	default:
		fmt.Fprintf(os.Stderr, "%s=%q: want holder, contender or newcomer\n", childVariable, role)
		return 2
	}
	orders, reports := json.NewDecoder(bufio.NewReader(os.Stdin)), json.NewEncoder(os.Stdout)
	var h holder
	defer h.close()
	for {
		var o order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return 0
		} else if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if err := reports.Encode(h.carryOut(o)); err != nil {
			return 1
		}
	}
}

// A holder is the child's client and the lock that it holds.
type holder struct {
	client *redlock.Client
	lock   *redlock.Lock
}

func (h *holder) close() {
	if h.client != nil {
		_ = h.client.Close()
	}
}

func (h *holder) carryOut(o order) (r report) {
	ctx, cancel := context.WithTimeout(context.Background(), settleBound)
	defer cancel()
	var err error
	if h.client == nil {
		// Patient: tests stop masters and children in the middle of things.
		h.client, err = redlock.Open(o.URLs, redlock.WithGuard(redlock.GuardOff), redlock.WithPool(pool.WithCommandTimeout(settleBound)))
		if err != nil {
			return report{Failed: err.Error()}
		}
	}
	switch o.Do {
	case "open":
		for connected(h.client) < len(o.URLs) && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		err = ctx.Err()
	case "adopt":
		h.lock, err = h.client.Adopt(ctx, o.Key, o.Token, redlock.WithTTL(o.TTL))
	case "lock":
		h.lock, err = h.client.TryLock(ctx, o.Key, redlock.WithTTL(o.TTL))
	case "hand over":
		r.Token, err = h.lock.HandOver()
	default:
		err = fmt.Errorf("unknown order %q", o.Do)
	}
	if err != nil {
		r.Failed = err.Error()
		for _, s := range sentinels {
			if errors.Is(err, s) {
				r.Is = append(r.Is, s.Error())
			}
		}
		return r
	}
	if r.Token == "" && h.lock != nil {
		r.Token = h.lock.Token()
	}
	return r
}
