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
	URLs() []string
	Do(i int, cmd string, args ...any) (any, error)
	Kill(which ...int) error
	Restart(keepData bool, which ...int) error
	Freeze(which ...int) error
	Thaw(which ...int) error
	Cut(which ...int) error        // both ways
	CutReplies(which ...int) error // what is sent to them arrives
	HalfOpen(which ...int) error   // nothing comes through on the connections that there are
	Heal(which ...int) error       // ends Cut, CutReplies and delays
	Close() error
}

// A setup says what a row needs of its masters.
type setup struct {
	lines  bool // Cut, CutReplies or slow on processes
	drops  bool // CutReplies or HalfOpen in containers
	config redistest.Config
}

// startMasters starts masters for a row, or says why it cannot run: then the
// error is an *unable.
func startMasters(k kind, s setup) (masters, error) {
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
	cluster, err := redistest.LaunchN(context.Background(), 5, s.config)
	if err != nil {
		return nil, err
	}
	p := &servers{cluster: cluster, targets: cluster.URLs()}
	if s.lines {
		for i, m := range cluster.Masters {
			l, err := faultproxy.New(m.Addr())
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

func (p *servers) URLs() []string { return p.targets }

func (p *servers) Do(i int, cmd string, args ...any) (any, error) {
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

func (p *servers) Kill(which ...int) error   { return p.each(which, (*redistest.Server).Kill) }
func (p *servers) Freeze(which ...int) error { return p.each(which, (*redistest.Server).Freeze) }
func (p *servers) Thaw(which ...int) error   { return p.each(which, (*redistest.Server).Thaw) }

func (p *servers) Restart(keepData bool, which ...int) error {
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

func (p *servers) Cut(which ...int) error  { return p.eachLine(which, (*faultproxy.Proxy).Cut) }
func (p *servers) Heal(which ...int) error { return p.eachLine(which, (*faultproxy.Proxy).Heal) }

func (p *servers) CutReplies(which ...int) error {
	return p.eachLine(which, (*faultproxy.Proxy).CutReplies)
}

func (p *servers) HalfOpen(which ...int) error {
	return p.eachLine(which, (*faultproxy.Proxy).HalfOpen)
}

func (p *servers) slow(by time.Duration, which ...int) error {
	return p.eachLine(which, func(l *faultproxy.Proxy) { l.Slow(by) })
}

// promote has another process, a replica with all the master's data, take over
// its address, as a service address or a virtual one does; the master is gone. It says
// since when at the earliest the replica may have served there.
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

func (p *servers) Close() error {
	var errs []error
	for _, r := range p.replicas {
		errs = append(errs, r.Close())
	}
	for _, l := range p.lines {
		l.Close()
	}
	return errors.Join(append(errs, p.cluster.Close())...)
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
	cluster, err := engine.Start(5, args...)
	if err != nil {
		return nil, err
	}
	if s.drops {
		if err := cluster.CanDrop(); err != nil {
			return nil, errors.Join(&unable{err}, cluster.Close())
		}
	}
	return cluster, nil
}
