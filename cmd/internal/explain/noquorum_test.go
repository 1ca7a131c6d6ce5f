package explain

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/hashicorp/go-multierror"

	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// refusals returns the error of a call without a quorum of five masters, with what each of them said.
func refusals(op, key string, elapsed time.Duration, said ...error) *redlock.QuorumError {
	e := &redlock.QuorumError{Op: op, Key: key, Need: 3, Total: 5, Elapsed: elapsed, Nodes: &multierror.Error{}}
	for i, err := range said {
		if err != nil {
			e.Nodes.Errors = append(e.Nodes.Errors, &redlock.NodeError{Master: fmt.Sprintf("10.0.0.%d:6379", i+1), Op: op, Err: err})
		}
	}
	return e
}

func TestWhyThereIsNoQuorumIsSaidInFewWords(t *testing.T) {
	t.Parallel()
	down := &pipeline.DownError{Cause: fmt.Errorf("dial tcp: %w", syscall.ECONNREFUSED)}
	unnamed := &pipeline.DownError{Cause: &net.DNSError{Err: "no such host"}}
	wrongPassword := &pipeline.ConfigError{What: "AUTH", Err: errors.New("WRONGPASS invalid username-password pair or user is disabled")}
	until := time.Now().Add(60702 * time.Millisecond)
	at := term.Until(until, 60702*time.Millisecond)
	quarantined := func(how string) error {
		return &redlock.AbstainError{Cause: guard.Quarantined, How: how, Left: 60702 * time.Millisecond, Until: until}
	}
	moot := redlock.ErrNotAwaited
	noMarker := &redlock.AbstainError{Cause: guard.NoMarker}
	forbiddenKey := &pipeline.ConfigError{What: "SET", Err: errors.New("NOPERM this user has no permissions to access one of the keys used as arguments")}
	for _, test := range []struct {
		err  error
		want string
	}{
		{
			refusals("lock", "k", 3600*time.Millisecond, down, unnamed, down, nil, pool.ErrStalled),
			`lock "k": no quorum within 3.6 s: 3 of 5 masters are down (10.0.0.1:6379, 10.0.0.3:6379: connection refused; 10.0.0.2:6379: no such host), 1 does not answer (10.0.0.5:6379). Start 10.0.0.1:6379, 10.0.0.3:6379, or mend the network to it. Mend the name of 10.0.0.2:6379 in the list, or what resolves it. No answer from 10.0.0.5:6379: look whether it is frozen, paused (CLIENT PAUSE), swapping or in a long script, or mend the network to it.`,
		},
		{
			refusals("lock", "k", 0, quarantined(guard.HowAdopted), quarantined(guard.HowAdopted), quarantined("")),
			`lock "k": no quorum: 10.0.0.1:6379, 10.0.0.2:6379 were new, or had lost their data; they vote again at ` + at + `. 10.0.0.3:6379 may have forgotten locks; it votes again at ` + at + `.`,
		},
		{
			// A refusal may be about a command, not about the session.
			refusals("lock", "k", 0, redis.Error("NOREPLICAS Not enough good replicas to write."), forbiddenKey, forbiddenKey),
			`lock "k": no quorum: 10.0.0.1:6379 has fewer replicas than min-replicas-to-write, and refuses every write. 10.0.0.2:6379, 10.0.0.3:6379: not permitted (the master is up): SET: NOPERM this user has no permissions to access one of the keys used as arguments. Bring back the replicas of 10.0.0.1:6379, or CONFIG SET min-replicas-to-write 0. Permit the keys on 10.0.0.2:6379, 10.0.0.3:6379, those of locks and the library's own, ~redquorum:*: redlock doctor --key KEY prints the ACL lines.`,
		},
		{
			refusals("lock", "k", 0, &redlock.AbstainError{Cause: guard.Changed}, &redlock.AbstainError{Cause: guard.Unmarked}, &redlock.AbstainError{Cause: guard.NotConnected, Err: &pipeline.DownError{Cause: pipeline.ErrConnecting}}),
			`lock "k": no quorum: 10.0.0.1:6379 lost its data; checking again. 10.0.0.2:6379, 10.0.0.3:6379 are still being checked. Those still being checked may be frozen: redlock status waits longer for them.`,
		},
		{
			refusals("lock", "k", 1600*time.Millisecond, &redlock.AbstainError{Cause: guard.NotConnected, Err: &pipeline.DownError{Cause: pipeline.ErrConnecting}}, &redlock.AbstainError{Cause: guard.Unmarked}, down),
			`lock "k": no quorum within 1.6 s: 1 of 5 masters is down (10.0.0.3:6379: connection refused), 2 do not answer (10.0.0.1:6379, 10.0.0.2:6379). No answer from 10.0.0.1:6379, 10.0.0.2:6379: look whether it is frozen, paused (CLIENT PAUSE), swapping or in a long script, or mend the network to it. Start 10.0.0.3:6379, or mend the network to it.`,
		},
		{
			refusals("lock", "k", 0, wrongPassword, &redlock.AbstainError{Cause: guard.Unmarked}, down, moot, wrongPassword),
			`lock "k": no quorum: 1 of 5 masters is down (10.0.0.3:6379: connection refused). 10.0.0.1:6379, 10.0.0.5:6379: password refused (the master is up). Mend the credentials, the database number or the TLS settings of 10.0.0.1:6379, 10.0.0.5:6379, or those given here. Start 10.0.0.3:6379, or mend the network to it.`,
		},
		{
			refusals("lock", "k", 0, &redlock.AbstainError{Cause: guard.NoMarker}, &redlock.Holder{Type: "string", Owner: "x"}, &redlock.AbstainError{Cause: guard.NotMaster, Value: "slave"}, down, down),
			`lock "k": no quorum: 2 of 5 masters are down (10.0.0.4:6379, 10.0.0.5:6379: connection refused). 10.0.0.1:6379 has no marker: it is new, or has lost its data. 10.0.0.2:6379: held by "x". 10.0.0.3:6379: its role is slave, want master: take it off the list, or list its master instead. List the master of 10.0.0.3:6379, or make it one: REPLICAOF NO ONE. Start 10.0.0.4:6379, 10.0.0.5:6379, or mend the network to it.`,
		},
		{
			// No master has said that it has a marker.
			refusals("lock", "k", 0, noMarker, noMarker, down, noMarker, pool.ErrTimeout),
			`lock "k": no quorum: 1 of 5 masters is down (10.0.0.3:6379: connection refused), 1 does not answer (10.0.0.5:6379). 10.0.0.1:6379, 10.0.0.2:6379, 10.0.0.4:6379 have no marker: they are new, or have lost their data. Start 10.0.0.3:6379, or mend the network to it. No answer from 10.0.0.5:6379: look whether it is frozen, paused (CLIENT PAUSE), swapping or in a long script, or mend the network to it. If the whole fleet is new: redlock init.`,
		},
		{
			// One has a marker: init would refuse.
			refusals("lock", "k", 0, noMarker, noMarker, down, quarantined(guard.HowRestarted)),
			`lock "k": no quorum: 1 of 5 masters is down (10.0.0.3:6379: connection refused). 10.0.0.1:6379, 10.0.0.2:6379 have no marker: they are new, or have lost their data. 10.0.0.4:6379 was restarted; it votes again at ` + at + `. Start 10.0.0.3:6379, or mend the network to it.`,
		},
		{
			errors.Join(refusals("ready", "", 5000609*time.Microsecond, down, down, down), context.DeadlineExceeded),
			`no quorum within 5 s: 3 of 5 masters are down (10.0.0.1:6379, 10.0.0.2:6379, 10.0.0.3:6379: connection refused). Start 10.0.0.1:6379, 10.0.0.2:6379, 10.0.0.3:6379, or mend the network to it.`,
		},
	} {
		if got := (&NoQuorumError{Err: test.err}).Error(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestMastersThatRefuseUsAreNotSaidToBeSilent(t *testing.T) {
	t.Parallel()
	refused := &pipeline.ConfigError{What: "AUTH", Err: errors.New("WRONGPASS invalid username-password pair or user is disabled")}
	in := &redlock.Inspection{Key: "k", Need: 2, Masters: []redlock.MasterHold{
		{Master: "10.0.0.1:6379", Err: refused}, {Master: "10.0.0.2:6379"}, {Master: "10.0.0.3:6379", Err: pool.ErrTimeout},
	}}
	const want = `too few masters say who holds "k": 1 of 3 masters does not answer (10.0.0.3:6379). 10.0.0.1:6379: password refused (the master is up). ` +
		`Mend the credentials, the database number or the TLS settings of 10.0.0.1:6379, or those given here. ` +
		`No answer from 10.0.0.3:6379: look whether it is frozen, paused (CLIENT PAUSE), swapping or in a long script, or mend the network to it.`
	if got := TooFew(in).Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
