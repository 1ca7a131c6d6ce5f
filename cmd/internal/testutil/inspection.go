package testutil

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/redlock"
)

// Inspections is an inspector with fixed answers by key.
type Inspections map[string]*redlock.Inspection

func (a Inspections) Inspect(_ context.Context, key string) (*redlock.Inspection, error) {
	if in, ok := a[key]; ok {
		return in, nil
	}
	return nil, errors.New("no such answer")
}

const TokenOf = ":dc0ofu9ksdue9s8caem0:54a329938b2398e2921c05e19f4a66a1"

// Soon is seven minutes after the client of TokenOf was made.
func Soon() time.Time { return time.Date(2026, 11, 21, 12, 8, 9, 0, time.UTC) }

// asked returns the answer of a master that has this hold.
func asked(h redlock.Holder) redlock.MasterHold {
	return redlock.MasterHold{Held: &h, RoundTrip: 321 * time.Microsecond}
}

func By(owner string, ttl time.Duration) redlock.MasterHold {
	return asked(redlock.Holder{Type: "string", Token: owner + TokenOf, Owner: owner, TTL: ttl})
}

func Read(count int, owners ...string) redlock.MasterHold {
	m := asked(redlock.Holder{Type: "zset", TTL: 9 * time.Second, Readers: count})
	for i, owner := range owners {
		m.Readers = append(m.Readers, redlock.Holder{
			Token:   owner + TokenOf,
			Owner:   owner,
			Type:    "zset",
			Masters: 1,
			TTL:     time.Duration(9-i) * time.Second,
		})
	}
	return m
}

// Sorted returns a sorted set without readers.
func Sorted() redlock.MasterHold {
	return asked(redlock.Holder{Type: "zset", TTL: -1, Stuck: true})
}

func Nothing() redlock.MasterHold { return redlock.MasterHold{RoundTrip: 1234 * time.Microsecond} }

// ErrRefused is the error of a master that does not run.
var ErrRefused = &pipeline.DownError{Cause: fmt.Errorf("dial tcp 10.0.0.1:6379: connect: %w", syscall.ECONNREFUSED)}

func Silent() redlock.MasterHold {
	return redlock.MasterHold{Err: ErrRefused}
}

// Answer returns an inspection like the library's: the holders, the one on most masters
// first, and the verdict.
func Answer(key string, v redlock.Verdict, masters ...redlock.MasterHold) *redlock.Inspection {
	in := &redlock.Inspection{Key: key, Verdict: v, Masters: masters, Need: len(masters)/2 + 1}
	for i := range masters {
		masters[i].Master = "10.0.0." + string(rune('1'+i)) + ":6379"
		named := masters[i].Readers
		if h := masters[i].Held; h != nil && named == nil {
			named = []redlock.Holder{*h}
			named[0].Masters = 1
		}
		for _, h := range named {
			at := slices.IndexFunc(in.Holders, func(o redlock.Holder) bool {
				return o.Token == h.Token && o.Type == h.Type
			})
			if at < 0 {
				in.Holders = append(in.Holders, h)
				continue
			}
			in.Holders[at].Masters++
		}
	}
	slices.SortStableFunc(in.Holders, func(a, b redlock.Holder) int { return b.Masters - a.Masters })
	return in
}
