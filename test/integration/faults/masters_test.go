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

	"github.com/redquorum/redquorum/internal/faultproxy"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/test/integration/internal/container"
)

// A kind of masters.
type kind string

const (
	processes  kind = "P" // redis-server processes of this machine
	containers kind = "D" // containers, with addresses of their own
	elsewhere  kind = "T" // another test, which starts its own
)

// masters are Redis servers and what can be done to them. Each call returns when
// it is done, or the error by which it failed.
type masters interface {
	urls() []string
	do(i int, cmd string, args ...any) (any, error)
	kill(which ...int) error
	restart(keepData bool, which ...int) error
	freeze(which ...int) error
	thaw(which ...int) error
	cut(which ...int) error        // both ways
	cutReplies(which ...int) error // what is sent to them arrives
	slow(by time.Duration, which ...int) error
	halfOpen(which ...int) error // nothing comes through on the connections that there are
	heal(which ...int) error     // ends cut, cutReplies and slow
	close() error
}

// A promoter has a replica take over a master's address, and says since when at
// the earliest it may have served there.
type promoter interface{ promote(i int) (instant, error) }

// A setup says what a row needs of its masters.
type setup struct {
	n      int  // 0: five
	lines  bool // cut, cutReplies or slow on processes
	drops  bool // cutReplies or halfOpen in containers
	config redistest.Config
}

// startMasters starts masters for a row, or says why it cannot run: then the
// error is an *unable.
func startMasters(k kind, s setup) (masters, error) {
	if s.n == 0 {
		s.n = 5
	}
	if err := canStart(k, s); err != nil {
		return nil, err
	}
	if k == containers {
		return startContainers(s)
	}
	return startProcesses(s)
}

// canStart is nil where masters can be started; the error is an *unable.
func canStart(k kind, s setup) error {
	if k == containers {
		if _, err := container.Find(); err != nil {
			return &unable{err}
		}
		return nil
	}
	if err := redistest.Available(); err != nil {
		return &unable{err}
	}
	if err := redistest.Missing(s.config.Needs()...); err != nil {
		return &unable{err}
	}
	if s.config.MovableClock {
		if err := redistest.ClockAvailable(); err != nil {
			return &unable{err}
		}
	}
	return nil
}

// unable is the reason why a row cannot run on this machine.
type unable struct{ reason error }

func (u *unable) Error() string { return u.reason.Error() }
func (u *unable) Unwrap() error { return u.reason }

// servers are masters that are processes, each behind a line where one is asked
// for.
type servers struct {
	cluster *redistest.Cluster
	lines   []*faultproxy.Proxy // nil: none
	targets []string
	// replicas that were promoted
	replicas []*redistest.Server
}

func startProcesses(s setup) (masters, error) {
	cluster, err := redistest.LaunchN(context.Background(), s.n, s.config)
	if err != nil {
		return nil, err
	}
	p := &servers{cluster: cluster, targets: cluster.URLs()}
	if s.lines {
		for i, m := range cluster.Masters {
			l, err := faultproxy.New(m.Addr())
			if err != nil {
				return nil, errors.Join(err, p.close())
			}
			p.lines = append(p.lines, l)
			u, err := url.Parse(p.targets[i])
			if err != nil {
				return nil, errors.Join(err, p.close())
			}
			u.Host = l.Addr()
			p.targets[i] = u.String()
		}
	}
	return p, nil
}

func (p *servers) urls() []string { return p.targets }

func (p *servers) do(i int, cmd string, args ...any) (any, error) {
	for _, r := range p.replicas {
		if p.lines[i].Target() == r.Addr() {
			return r.Do(cmd, args...)
		}
	}
	return p.cluster.Masters[i].Do(cmd, args...)
}

// each does something to several servers at the same time.
func (p *servers) each(which []int, f func(m *redistest.Server) error) error {
	errs := make([]error, len(which))
	var wg sync.WaitGroup
	for n, i := range which {
		wg.Go(func() { errs[n] = f(p.cluster.Masters[i]) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (p *servers) kill(which ...int) error   { return p.each(which, (*redistest.Server).Kill) }
func (p *servers) freeze(which ...int) error { return p.each(which, (*redistest.Server).Freeze) }
func (p *servers) thaw(which ...int) error   { return p.each(which, (*redistest.Server).Thaw) }

func (p *servers) restart(keepData bool, which ...int) error {
	return p.each(which, func(m *redistest.Server) error { return m.Restart(context.Background(), keepData) })
}

var errNoLines = errors.New("these masters are not behind lines")

func (p *servers) eachLine(which []int, f func(l *faultproxy.Proxy)) error {
	if p.lines == nil {
		return errNoLines
	}
	for _, i := range which {
		f(p.lines[i])
	}
	return nil
}

func (p *servers) cut(which ...int) error { return p.eachLine(which, (*faultproxy.Proxy).Cut) }
func (p *servers) cutReplies(which ...int) error {
	return p.eachLine(which, (*faultproxy.Proxy).CutReplies)
}
func (p *servers) heal(which ...int) error { return p.eachLine(which, (*faultproxy.Proxy).Heal) }

func (p *servers) halfOpen(which ...int) error {
	return p.eachLine(which, (*faultproxy.Proxy).HalfOpen)
}

func (p *servers) slow(by time.Duration, which ...int) error {
	return p.eachLine(which, func(l *faultproxy.Proxy) { l.Slow(by) })
}

// promote has another process, a replica with all the master's data, take over
// its address, as a service address or a virtual one does; the master is gone.
func (p *servers) promote(i int) (instant, error) {
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

func (p *servers) close() error {
	var errs []error
	for _, r := range p.replicas {
		errs = append(errs, r.Close())
	}
	for _, l := range p.lines {
		l.Close()
	}
	return errors.Join(append(errs, p.cluster.Close())...)
}

// boxes are masters in containers.
type boxes struct {
	*container.Cluster

	mu  sync.Mutex                       // guards how
	how map[int]func(which ...int) error // by which a cut is healed
}

func startContainers(s setup) (masters, error) {
	engine, err := container.Find()
	if err != nil {
		return nil, &unable{err}
	}
	var args []string
	if s.config.AppendOnly != redistest.AppendOff {
		args = []string{"--appendonly", "yes", "--appendfsync", string(s.config.AppendOnly)}
	}
	cluster, err := engine.Start(s.n, args...)
	if err != nil {
		return nil, err
	}
	b := &boxes{Cluster: cluster, how: map[int]func(which ...int) error{}}
	if s.drops {
		if err := cluster.CanDrop(); err != nil {
			return nil, errors.Join(&unable{err}, b.close())
		}
	}
	return b, nil
}

func (b *boxes) urls() []string { return b.URLs() }

func (b *boxes) do(i int, cmd string, args ...any) (any, error) { return b.Do(i, cmd, args...) }

func (b *boxes) kill(which ...int) error { return b.Kill(which...) }

func (b *boxes) restart(keepData bool, which ...int) error {
	if keepData {
		return b.Restart(which...)
	}
	return b.Renew(which...)
}

func (b *boxes) freeze(which ...int) error { return b.Pause(which...) }
func (b *boxes) thaw(which ...int) error   { return b.Unpause(which...) }

func (b *boxes) cut(which ...int) error {
	b.healBy(b.Rejoin, which)
	return b.Cut(which...)
}

func (b *boxes) cutReplies(which ...int) error {
	b.healBy(b.HealReplies, which)
	return b.CutReplies(which...)
}

func (b *boxes) halfOpen(which ...int) error { return b.HalfOpen(which...) }

func (b *boxes) slow(time.Duration, ...int) error { return errors.ErrUnsupported }

func (b *boxes) healBy(f func(which ...int) error, which []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, i := range which {
		b.how[i] = f
	}
}

func (b *boxes) heal(which ...int) error {
	errs := make([]error, len(which))
	var wg sync.WaitGroup
	for n, i := range which {
		b.mu.Lock()
		f := b.how[i]
		delete(b.how, i)
		b.mu.Unlock()
		if f != nil {
			wg.Go(func() { errs[n] = f(i) })
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (b *boxes) close() error { return b.Close() }
