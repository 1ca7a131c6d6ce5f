package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/redistest"
)

// A setup says what a row needs of its masters.
type setup struct {
	lines  bool // they can be cut off and slowed down
	config redistest.Config
}

// canStart returns nil if masters can be started, and else an *unable.
func canStart(s setup) error {
	err := redistest.Missing(s.config.Needs()...)
	if err == nil && s.config.MovableClock {
		err = redistest.ClockAvailable()
	}
	if err != nil {
		return &unable{err}
	}
	return nil
}

// unable is the reason why a row cannot run on this machine.
type unable struct{ reason error }

func (u *unable) Error() string { return u.reason.Error() }
func (u *unable) Unwrap() error { return u.reason }

// masters are redis-server processes of this machine, each behind a proxy if the setup has lines.
// Each call returns when it is done, or the error by which it failed.
type masters struct {
	cluster *redistest.Cluster
	lines   []*redistest.Proxy // nil: none
	targets []string
	// replicas that were promoted
	replicas []*redistest.Server
}

// startMasters starts masters for a row. If the row cannot run here, the error is an *unable.
func startMasters(s setup) (*masters, error) {
	if err := canStart(s); err != nil {
		return nil, err
	}
	cluster, err := redistest.LaunchN(context.Background(), 5, s.config)
	if err != nil {
		return nil, err
	}
	p := &masters{cluster: cluster, targets: cluster.URLs()}
	if s.lines {
		for i, m := range cluster.Masters {
			l, err := redistest.NewProxy(m.Addr())
			if err != nil {
				return nil, errors.Join(err, p.Close())
			}
			p.lines = append(p.lines, l)
			u, err := url.Parse(p.targets[i])
			if err != nil {
				return nil, errors.Join(err, p.Close())
			}
			u.Host = l.Addr()
			p.targets[i] = u.String()
		}
	}
	return p, nil
}

func (p *masters) URLs() []string { return p.targets }

func (p *masters) Do(i int, cmd string, args ...any) (any, error) {
	for _, r := range p.replicas {
		if p.lines[i].Target() == r.Addr() {
			return r.Do(cmd, args...)
		}
	}
	return p.cluster.Masters[i].Do(cmd, args...)
}

// each calls f for several servers at the same time.
func (p *masters) each(which []int, f func(m *redistest.Server) error) error {
	errs := make([]error, len(which))
	var wg sync.WaitGroup
	for n, i := range which {
		wg.Go(func() { errs[n] = f(p.cluster.Masters[i]) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (p *masters) Kill(which ...int) error   { return p.each(which, (*redistest.Server).Kill) }
func (p *masters) Freeze(which ...int) error { return p.each(which, (*redistest.Server).Freeze) }
func (p *masters) Thaw(which ...int) error   { return p.each(which, (*redistest.Server).Thaw) }

func (p *masters) Restart(keepData bool, which ...int) error {
	return p.each(which, func(m *redistest.Server) error { return m.Restart(context.Background(), keepData) })
}

var errNoLines = errors.New("these masters are not behind lines")

func (p *masters) eachLine(which []int, f func(l *redistest.Proxy)) error {
	if p.lines == nil {
		return errNoLines
	}
	for _, i := range which {
		f(p.lines[i])
	}
	return nil
}

func (p *masters) Cut(which ...int) error  { return p.eachLine(which, (*redistest.Proxy).Cut) }
func (p *masters) Heal(which ...int) error { return p.eachLine(which, (*redistest.Proxy).Heal) }

func (p *masters) CutReplies(which ...int) error {
	return p.eachLine(which, (*redistest.Proxy).CutReplies)
}

func (p *masters) HalfOpen(which ...int) error {
	return p.eachLine(which, (*redistest.Proxy).HalfOpen)
}

func (p *masters) slow(by time.Duration, which ...int) error {
	return p.eachLine(which, func(l *redistest.Proxy) { l.Slow(by) })
}

// promote kills a master, and makes a replica with all its data take over its address, as behind a
// service address or a virtual one. It returns the earliest instant at which the replica may have
// served there.
func (p *masters) promote(i int) (instant, error) {
	if p.lines == nil {
		return 0, errNoLines
	}
	master := p.cluster.Masters[i]
	replica, err := redistest.Launch(context.Background(), redistest.Config{})
	if err != nil {
		return 0, err
	}
	p.replicas = append(p.replicas, replica)
	host, port, err := net.SplitHostPort(master.Addr())
	if err != nil {
		return 0, err
	}
	if _, err := replica.Do("REPLICAOF", host, port); err != nil {
		return 0, err
	}
	if err := inStep(replica.Do); err != nil {
		return 0, err
	}
	if err := master.Kill(); err != nil {
		return 0, err
	}
	promoted := now()
	if _, err := replica.Do("REPLICAOF", "NO", "ONE"); err != nil {
		return 0, err
	}
	p.lines[i].Retarget(replica.Addr())
	return promoted, nil
}

// inStep waits until a replica has all that its master has.
func inStep(do func(cmd string, args ...any) (any, error)) error {
	for deadline := time.Now().Add(settleBound); ; time.Sleep(10 * time.Millisecond) {
		info, err := redis.String(do("INFO", "replication"))
		if err != nil {
			return err
		}
		if strings.Contains(info, "master_link_status:up") {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the replica is not in step within %v", settleBound)
		}
	}
}

func (p *masters) Close() error {
	var errs []error
	for _, r := range p.replicas {
		errs = append(errs, r.Close())
	}
	for _, l := range p.lines {
		l.Close()
	}
	return errors.Join(append(errs, p.cluster.Close())...)
}
