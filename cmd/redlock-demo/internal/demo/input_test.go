package demo

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestWithoutAQuorumTheRunDoesNotBegin(t *testing.T) {
	t.Parallel()
	m := masters(t, 3)
	m.masters[0].Kill()
	m.masters[2].Kill()
	o := fast()
	o.ready = 300 * time.Millisecond
	res, text, err := shown(t, Given(m.URLs()), o)
	none, ok := errors.AsType[*NoQuorumError](err)
	if !ok {
		t.Fatalf("error %v", err)
	}
	want := "no quorum within 300ms: 1 of 3 masters answered, 2 needed (" +
		m.masters[0].Addr() + ": connection refused; " + m.masters[2].Addr() + ": connection refused)"
	if none.Error() != want {
		t.Errorf("error %q, want %q", none, want)
	}
	if text != "" || res.Verdict != VerdictNoQuorum || res.Error != want || len(res.Masters) != 3 {
		t.Errorf("printed %q, result %+v", text, res)
	}
}

func TestInputThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	good := []string{"redis://127.0.0.1:1", "redis://127.0.0.1:2", "redis://127.0.0.1:3"}
	for _, test := range []struct {
		name   string
		urls   []string
		change func(*Options)
		want   string
	}{
		{"too few buyers", good, func(o *Options) { o.Buyers = 1 }, "1 buyers: want 2 to 100"},
		{"too many buyers", good, func(o *Options) { o.Buyers = 101 }, "101 buyers: want 2 to 100"},
		{"no stock", good, func(o *Options) { o.Stock = 0 }, "a stock of 0: want 1 to 10000"},
		{"too much stock", good, func(o *Options) { o.Stock = 10_001 }, "a stock of 10001: want 1 to 10000"},
		{"short TTL", good, func(o *Options) { o.TTL = 19 * time.Millisecond }, "a TTL of 19ms: want 20ms to 1m0s"},
		{"long TTL", good, func(o *Options) { o.TTL = 2 * time.Minute }, "a TTL of 2m0s: want 20ms to 1m0s"},
		{"odd TTL", good, func(o *Options) { o.TTL = time.Second + 1 }, "a TTL of 1.000000001s: want whole milliseconds, as Redis counts them"},
		{"no masters", nil, nil, "0 master URLs given: want 1 to 63"},
		{"bad scheme", []string{"http://u:secret@h"}, nil, `master URL 1: scheme "http": want redis://, rediss:// or unix://`},
		{"bad URL", []string{good[0], "redis://u:sec%ret@h"}, nil, "master URL 2: not a valid URL"},
		{"twice", []string{good[0], good[1], good[0]}, nil, "master URL 3: 127.0.0.1:1 is already master 1: every master must be given once"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := fast()
			if test.change != nil {
				test.change(&o)
			}
			res, text, err := shown(t, Given(test.urls), o)
			if _, ok := errors.AsType[*InputError](err); !ok || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
			if res != nil || text != "" {
				t.Errorf("result %+v, printed %q", res, text)
			}
		})
	}
}
