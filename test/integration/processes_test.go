package integration

import (
	"context"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
)

// processes are masters that are redis-server processes of this machine.
type processes struct {
	masters
	servers []*redistest.Server
	frozen  []bool
}

// startProcesses starts n plain masters for a test. At its end, when its clients are closed,
// masters that answer must have no key left.
func startProcesses(t *testing.T, n int) *processes {
	t.Helper()
	return startConfigured(t, redistest.Config{}, n)
}

// startConfigured starts n masters, all alike.
func startConfigured(t *testing.T, cfg redistest.Config, n int) *processes {
	t.Helper()
	return join(t, redistest.Start(t, n, cfg))
}

// join makes one set of masters out of clusters, which may be configured differently.
func join(t *testing.T, clusters ...*redistest.Cluster) *processes {
	t.Helper()
	ranMasters.Store(true)
	p := &processes{}
	for _, c := range clusters {
		p.servers = append(p.servers, c.Masters...)
	}
	p.frozen = make([]bool, len(p.servers))
	p.masters = masters{
		t:       t,
		command: func(i int, cmd string, args ...any) (any, error) { return p.servers[i].Do(cmd, args...) },
		answers: func(i int) bool { return !p.frozen[i] && p.servers[i].PID() != 0 },
	}
	for _, s := range p.servers {
		p.urls = append(p.urls, s.URL())
	}
	// Cleanups run in reverse order: the clients are opened later, so they are closed by then, and
	// the servers still run.
	t.Cleanup(func() {
		for i := range p.servers {
			if p.frozen[i] {
				p.thaw(i)
			}
		}
		p.wantNoKeys()
	})
	return p
}

func (p *processes) kill(which ...int) {
	p.t.Helper()
	for _, i := range which {
		if err := p.servers[i].Kill(); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *processes) freeze(which ...int) {
	p.t.Helper()
	for _, i := range which {
		if err := p.servers[i].Freeze(); err != nil {
			p.t.Fatal(err)
		}
		p.frozen[i] = true
	}
}

func (p *processes) thaw(which ...int) {
	p.t.Helper()
	for _, i := range which {
		if err := p.servers[i].Thaw(); err != nil {
			p.t.Fatal(err)
		}
		p.frozen[i] = false
	}
}

// restart starts masters that were killed; without an append-only file they are empty.
func (p *processes) restart(which ...int) {
	p.t.Helper()
	for _, i := range which {
		if err := p.servers[i].Restart(context.Background(), true); err != nil {
			p.t.Fatal(err)
		}
	}
}
