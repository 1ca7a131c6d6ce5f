package pipeline

import (
	"sync/atomic"

	"github.com/redquorum/redquorum/internal/simmaster"
)

// A memConn is the client's end of a connection in memory. It notes the calls of its methods.
type memConn struct {
	*simmaster.Conn
	writes atomic.Int64 // calls of Write
	linger atomic.Int64 // the latest argument of SetLinger; -1: there was none; or closedInOrder
}

// closedInOrder is the linger of a connection that was closed without a reset.
const closedInOrder = -2

// memPipe returns the two ends of a connection. Each direction holds window bytes before its writer
// waits.
func memPipe(window int) (client *memConn, server *simmaster.Conn) {
	near, far := simmaster.Pipe("client", "server", window)
	client = &memConn{Conn: near}
	client.linger.Store(-1)
	return client, far
}

func (c *memConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

func (c *memConn) SetLinger(sec int) error {
	c.linger.Store(int64(sec))
	return c.Conn.SetLinger(sec)
}

func (c *memConn) Close() error {
	if c.linger.Load() != 0 {
		c.linger.Store(closedInOrder)
	}
	return c.Conn.Close()
}
