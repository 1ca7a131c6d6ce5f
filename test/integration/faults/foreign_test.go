package faults

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	"github.com/gomodule/redigo/redis"
)

// foreignRows are about other Redlock clients on the same masters.
func foreignRows() []row {
	return []row{{
		fault:  "another Redlock client (redsync) on the same keys, one or two masters killed meanwhile",
		expect: "never both, and both make progress",
		run: func(r *run) {
			foreign := func(s *spec) {
				s.Workers = append(s.Workers, worker{Do: doForeign, Keys: []string{"hot:0", "hot:1"}, Pace: 10 * time.Millisecond, Hold: time.Millisecond})
			}
			r.steady(foreign)
			r.fault(func() error { return r.m.Kill(0) }, 0)
			r.progress(r.faultIn, 10)
			r.must(r.m.Kill(1))
			r.away[1], r.troubled[1] = true, true
			r.progress(now(), 30)
			r.heal(func() error { return r.m.Restart(false, 0, 1) })
			r.recovers(true)
			r.litter = rowTTL
			r.unfelt()
			r.history.mu.Lock()
			r.note = fmt.Sprintf("%d times ours, %d times redsync's", r.history.locked[doHot], r.history.locked[doForeign])
			r.history.mu.Unlock()
		},
	}}
}

// openForeign makes a client of another Redlock library on the same masters, and returns how to
// close it.
func (c *client) openForeign() (_ *redsync.Redsync, closeIt func() error, err error) {
	var pools []redsyncredis.Pool
	var all []*redis.Pool
	for _, text := range c.spec.URLs {
		u, err := url.Parse(text)
		if err != nil {
			return nil, nil, err
		}
		p := &redis.Pool{MaxIdle: 8, DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", u.Host, redis.DialConnectTimeout(commandTimeout), redis.DialReadTimeout(commandTimeout), redis.DialWriteTimeout(commandTimeout))
		}}
		all, pools = append(all, p), append(pools, redigo.NewPool(p))
	}
	return redsync.New(pools...), func() error {
		var errs []error
		for _, p := range all {
			errs = append(errs, p.Close())
		}
		return errors.Join(errs...)
	}, nil
}

// foreign works as doHot does, with the other library, which has no fencing tokens.
func (j *job) foreign() {
	lib, closeIt, err := j.openForeign()
	if err != nil {
		j.reportOp(opWait, now(), err)
		return
	}
	defer func() { _ = closeIt() }()
	for j.ctx.Err() == nil {
		j.foreignTurn(lib)
		j.pause(j.Pace)
	}
}

func (j *job) foreignTurn(lib *redsync.Redsync) {
	ctx, cancel := context.WithTimeout(j.ctx, waitBound)
	defer cancel()
	key := j.key()
	m := lib.NewMutex(key, redsync.WithExpiry(j.spec.TTL), redsync.WithTries(1<<20), redsync.WithRetryDelayFunc(func(int) time.Duration {
		return 3*time.Millisecond + time.Duration(j.random.Int64N(int64(9*time.Millisecond)))
	}))
	began := now()
	if !j.got(ctx, opWait, began, m.LockContext(ctx)) {
		return
	}
	proof := now()
	until := proof.add(time.Until(m.Until()))
	j.report(event{Kind: eventGrant, Worker: j.index, Hold: m.Value(), Keys: []string{key}, At: proof, Until: until})
	if r := j.openRegister(); r != nil {
		a := r.ask(request{Key: key})
		j.pause(j.Hold)
		if proof = now(); a.Accepted && proof < until {
			r.ask(request{Key: key, Write: true, Value: a.Value + 1})
		}
		r.close()
	}
	j.report(event{Kind: eventEnd, Hold: m.Value(), At: min(proof, until), End: now()})
	began = now()
	out, cancelOut := context.WithTimeout(context.WithoutCancel(ctx), waitBound)
	defer cancelOut()
	// It fails if the lock was on three masters and one of them was killed since. The rest expires
	// by its TTL; nothing is promised for redsync.
	if _, err := m.UnlockContext(out); err == nil {
		j.reportOp(opUnlock, began, nil)
	}
}
