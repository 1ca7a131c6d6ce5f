package pool

import (
	"github.com/redquorum/redquorum/internal/deliver"
	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/seam"
)

// A Master is one master of a pool. It is safe for concurrent use, and a small
// value: copy it freely.
type Master struct {
	line *pipeline.Pipeline
}

// Masters gives the pool's masters, in the order of the URLs.
func (p *Pool) Masters() []Master {
	all := make([]Master, len(p.masters))
	for i, m := range p.masters {
		all[i] = Master{m}
	}
	return all
}

// Name is the master's address as errors and reports name it: host:port, or the path of a socket.
func (m Master) Name() string { return m.line.Name() }

// DB is the number of the database that is used there.
func (m Master) DB() int { return m.line.DB() }

// Connected reports whether the master can be asked now. It does not block.
func (m Master) Connected() bool { return m.line.Connected() }

// Stats takes a snapshot of the connection. It does not block.
func (m Master) Stats() Stats { return statsOf(m.line) }

func init() {
	seam.Pipelines = func(pool any) []*pipeline.Pipeline { return pool.(*Pool).masters }
	seam.Deliverer = func(pool any) *deliver.Deliverer { return pool.(*Pool).deliverer }
}
