package redlock

import (
	"context"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-multierror"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/internal/wire"
	"github.com/redquorum/redquorum/pool"
)

// A token of this library has these parts.
const (
	aClient = "dc0lbmpksdubv602g4g0"
	aRandom = "0123456789abcdef0123456789abcdef"
)

func quorumError(kind, cause error, nodes ...error) *QuorumError {
	e := &QuorumError{Op: "lock", Key: "key", OK: 1, Need: 3, Total: 5, Elapsed: time.Millisecond, kind: kind, cause: cause}
	for _, err := range nodes {
		if e.Nodes == nil {
			e.Nodes = &multierror.Error{ErrorFormat: joinNodes}
		}
		e.Nodes.Errors = append(e.Nodes.Errors, &NodeError{Master: "127.0.0.1:7001", Op: "lock", Err: err})
	}
	return e
}

// Five masters that abstain for one reason make one sentence, for any reason.
func TestAnErrorOfFiveMastersIsShort(t *testing.T) {
	for _, cause := range Causes(t) {
		var nodes []error
		for i := range 5 {
			nodes = append(nodes, &AbstainError{
				Cause: cause, Value: "maxttl=60s n=5 level=standard", Want: "maxttl=30s n=5 level=standard", How: "restored",
				Left: 50*time.Second + time.Duration(i)*time.Millisecond, Until: time.Unix(50, 0),
				Err: errors.New("NOPERM this user has no permissions to run the 'info' command"),
			})
		}
		if text := quorumError(ErrNoQuorum, nil, nodes...).Error(); len(text) > 400 || strings.Count(text, "7001") != 5 {
			t.Errorf("%v: %d characters: %s", cause, len(text), text)
		}
	}
}

// errors.Is and errors.As walk through go-multierror: they find facts of single masters, which are
// not mistaken for the kind of the whole. They do not find what a loss quotes.
func TestErrorsMatchWhatTheyAreMadeOfAndNothingElse(t *testing.T) {
	held := &Holder{Token: "t", Type: "string"}
	for _, test := range []struct {
		err         error
		want        []error
		held, named bool // a Holder and a NodeError are found
	}{
		{quorumError(ErrNoQuorum, context.Canceled, held, pool.ErrTimeout), []error{ErrNoQuorum, context.Canceled, pool.ErrTimeout}, true, true},
		{quorumError(ErrTaken, nil, held, ErrNotAwaited), []error{ErrTaken, ErrNotAwaited}, true, true},
		{quorumError(ErrNoQuorum, nil), []error{ErrNoQuorum}, false, false},
		{ErrNotAwaited, []error{ErrNotAwaited}, false, false},
		{&LostError{Key: "key", Reason: ReasonUnreachable, Err: quorumError(ErrNoQuorum, nil, held)}, []error{ErrLost}, false, false},
		{&LostError{Reason: ReasonClosed}, []error{ErrLost, ErrClosed}, false, false},
	} {
		for _, sentinel := range []error{
			ErrTaken, ErrNoQuorum, ErrLost, ErrNotHeld, ErrUnlocked, ErrReentrant, ErrClosed, ErrNotAwaited,
			context.Canceled, context.DeadlineExceeded, pool.ErrTimeout, pool.ErrDown, pool.ErrStalled, pool.ErrConnectionLost,
		} {
			if got, want := errors.Is(test.err, sentinel), slices.Contains(test.want, sentinel); got != want {
				t.Errorf("%v matches %v: %v, want %v", test.err, sentinel, got, want)
			}
		}
		if h, ok := errors.AsType[*Holder](test.err); ok != test.held || ok && h.Token != "t" {
			t.Errorf("%v: the Holder is %v", test.err, h)
		}
		if n, ok := errors.AsType[*NodeError](test.err); ok != test.named || ok && n.Master != "127.0.0.1:7001" {
			t.Errorf("%v: the NodeError is %v", test.err, n)
		}
		if strings.Contains(test.err.Error(), "\n") {
			t.Errorf("%q is more than a line", test.err)
		}
	}
	// errors.As must not find a nil *multierror.Error in the tree.
	if _, ok := errors.AsType[*multierror.Error](error(quorumError(ErrNoQuorum, nil))); ok {
		t.Error("a nil multierror is found")
	}
}

func TestAQuorumErrorIsRangedOverInTheOrderOfItsMasters(t *testing.T) {
	held := &Holder{Token: "t", Type: "string"}
	err := quorumError(ErrNoQuorum, nil, held, pool.ErrTimeout, ErrNotAwaited)
	var causes []error
	for n := range err.NodeErrors() {
		causes = append(causes, n.Err)
	}
	if want := []error{held, pool.ErrTimeout, ErrNotAwaited}; !slices.Equal(causes, want) {
		t.Errorf("causes %v, want %v", causes, want)
	}
	err.NodeErrors()(func(*NodeError) bool { return false }) // it panics if it goes on
	for n := range quorumError(ErrNoQuorum, nil).NodeErrors() {
		t.Errorf("%v, though all agreed", n)
	}
}

func TestErrorTextsAreOneLineThatSaysWhatMatters(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{
			quorumError(ErrTaken, context.DeadlineExceeded, &Holder{Token: "abc", Type: "string", TTL: 1500 * time.Millisecond}),
			`redlock: lock "key": taken (context deadline exceeded): 1 of 5 masters agreed, 3 needed, after 1ms: 127.0.0.1:7001: held by another (token "a…") for 1.5s more`,
		},
		{
			quorumError(ErrNoQuorum, nil, ErrNotAwaited, pool.ErrTimeout, ErrNotAwaited),
			`redlock: lock "key": no quorum: 1 of 5 masters agreed, 2 not awaited, 3 needed, after 1ms: 127.0.0.1:7001: no answer in time`,
		},
		{
			quorumError(ErrNoQuorum, nil, ErrNotAwaited),
			`redlock: lock "key": no quorum: 1 of 5 masters agreed, 1 not awaited, 3 needed, after 1ms`,
		},
		{
			quorumError(ErrTaken, nil,
				&Holder{Token: "abc", Type: "string", TTL: 1999 * time.Millisecond}, &Holder{Token: "abd", Type: "string", TTL: 2001 * time.Millisecond},
				&Holder{Token: "abc", Type: "string", TTL: 2500 * time.Millisecond}),
			`redlock: lock "key": taken: 1 of 5 masters agreed, 3 needed, after 1ms: ` +
				`127.0.0.1:7001, 127.0.0.1:7001: held by another (token "a…") for 1.999s more; 127.0.0.1:7001: held by another (token "a…") for 2.5s more`,
		},
		{
			quorumError(ErrNoQuorum, nil,
				errors.New("dial tcp 10.0.0.1:6379: refused"), errors.New("votes at 2026-01-01T00:00:09Z (in 1m9.5s)"),
				errors.New("dial tcp 10.0.0.2:6379: refused"), errors.New("votes at 2026-01-01T00:00:10Z (in 1m9.52s)"), errors.New("dial tcp 10.0.0.3:6379: reset")),
			`redlock: lock "key": no quorum: 1 of 5 masters agreed, 3 needed, after 1ms: 127.0.0.1:7001, 127.0.0.1:7001: dial tcp: refused; ` +
				`127.0.0.1:7001, 127.0.0.1:7001: votes at 2026-01-01T00:00:09Z (in 1m9.5s); 127.0.0.1:7001: dial tcp 10.0.0.3:6379: reset`,
		},
		{&Holder{Type: "hash"}, "the key is a hash, not a lock"},
		{&Holder{Type: "none"}, "was held by another, is free now"},
		{&Holder{}, "held by another"},
		{&Holder{Type: "zset", TTL: time.Second}, "the key is a zset, not a lock"},
		{&Holder{Type: "zset", TTL: time.Second, Readers: 1}, "held by a reader for 1s more"},
		{&Holder{Type: "zset", TTL: time.Second, Readers: 7}, "held by 7 readers for at most 1s more"},
		{&Holder{Type: wire.IntentType}, "kept for a writer that waits"},
		{&Holder{Type: "string", Token: "web-1:" + aClient + ":" + aRandom, Owner: "web-1", TTL: -1}, `held by "web-1" (token "` + aClient + `:0123…") without an expiry`},
		{&Holder{Type: "string", Token: aClient + ":" + aRandom, TTL: time.Second}, `held by another (token "` + aClient + `:0123…") for 1s more`},
		{&Holder{Type: "string", Token: aClient + ":" + aRandom, TTL: time.Second, Own: true}, `taken by this client itself (token "` + aClient + `:0123…") for 1s more`},
		{
			&Holder{Type: "string", Token: "web-1:" + aClient + ":" + aRandom, Owner: "web-1", TTL: time.Second, Own: true, Key: "k"},
			`"k": taken by this client itself, "web-1" (token "` + aClient + `:0123…") for 1s more`,
		},
		{&Holder{Type: wire.LeaseType, Token: "2Hh0QHNoZhdXv0PdJ0ioKQ==", TTL: time.Second}, `leased to another (token "2Hh0QHNo…") for 1s more, though its key is gone`},
		{
			&Holder{Type: wire.LeaseType, Token: "web-1:" + aClient + ":" + aRandom, Owner: "web-1", TTL: time.Second},
			`leased to "web-1" (token "` + aClient + `:0123…") for 1s more, though its key is gone`,
		},
		{&LostError{Key: "key", Reason: ReasonTaken}, `redlock: lock "key" lost: taken`},
		{&LostError{Key: "key", Reason: ReasonUnreachable, Err: errors.New("redlock: why")}, `redlock: lock "key" lost: unreachable: why`},
		{&notHeldError{"unlock", "key", ErrUnlocked}, `redlock: unlock "key": not held: unlocked`},
		{&reentrantError{"key"}, `redlock: lock "key": already held under this context`},
		{&upgradeError{"key"}, `redlock: lock "key": already held under this context for reading: unlock that first, a reader cannot become the writer`},
		{joinLoss(&LostError{Key: "key", Reason: ReasonExpired}, errors.New("boom")), `redlock: lock "key" lost: expired; boom`},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

var negativeTime = regexp.MustCompile(`-\d[\d.]*(ns|µs|ms|s|m|h)`)

// inThePast makes all times of an error negative. No text may show one, whether it was measured,
// read from a master, or made by a caller.
func inThePast(err error, by time.Duration) {
	v := reflect.ValueOf(err).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Type() {
		case reflect.TypeFor[time.Duration]():
			if v.Type().Field(i).Name != "Limit" { // Limit is a setting
				f.SetInt(int64(-by))
			}
		case reflect.TypeFor[drift.Span]():
			f.Set(reflect.ValueOf(drift.Span{Low: -by - 1, High: 1}))
		}
	}
}

func TestNoErrorTellsANegativeTime(t *testing.T) {
	all := []error{quorumError(ErrTaken, nil), quorumError(ErrNoQuorum, context.Canceled)}
	for _, cause := range Causes(t) {
		all = append(all, &AbstainError{Cause: cause, How: "restarted"}, &AbstainError{Cause: cause, Ours: true})
	}
	for _, kind := range []string{"", "string", "zset", "none", "hash", wire.LeaseType, wire.IntentType} {
		for readers := range 3 {
			all = append(all, &Holder{Type: kind, Readers: readers}, &Holder{Type: kind, Readers: readers, Own: true, Key: "key", Token: "t"})
		}
	}
	for _, err := range all {
		for _, by := range []time.Duration{1, time.Millisecond, 90 * time.Minute} {
			inThePast(err, by)
			for _, err := range []error{err, quorumError(ErrTaken, nil, err), &LostError{Key: "key", Err: quorumError(ErrNoQuorum, nil, err)}} {
				if text := err.Error(); negativeTime.MatchString(text) {
					t.Errorf("%T: %s", err, text)
				}
			}
		}
	}
}
