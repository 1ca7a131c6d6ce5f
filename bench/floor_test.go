package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/redquorum/redquorum/internal/pipeline"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/script"
)

// A floor measures what the masters and the kernel alone take for the same commands. Each
// master has one connection and one goroutine. It writes the SETs of all locks at once,
// waits for the replies, and does the same with the releases. The bytes are made before
// the clock starts, and the replies are only compared. Nothing waits for a quorum or for
// another master. No lock library can be faster, unless it sends larger batches than
// there are locks.
type floor struct {
	masters []*floorMaster
}

type floorMaster struct {
	conn       net.Conn
	set, del   [][]byte // commands of every goroutine
	replies    []byte   // buffer
	ok, one    []byte   // the expected replies
	setN, delN []byte   // buffers for batches
}

func openFloor(ctx context.Context, masters *redistest.Cluster, goroutines int) (*floor, error) {
	f := &floor{}
	for _, m := range masters.Masters {
		if _, err := m.Do("SCRIPT", "LOAD", script.Release.Source); err != nil {
			return nil, errors.Join(err, f.close())
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.Addr())
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
		fm := &floorMaster{
			conn:    conn,
			replies: make([]byte, 5*goroutines),
			ok:      bytes.Repeat([]byte("+OK\r\n"), goroutines),
			one:     bytes.Repeat([]byte(":1\r\n"), goroutines),
		}
		for i := range goroutines {
			key, token := fmt.Sprintf("bench:floor:%d", i), fmt.Sprintf("floorfloorfloorfloor:%032d", i)
			fm.set = append(fm.set, pipeline.AppendCommand(nil, "SET", key, token, "NX", "PX", ttl.Milliseconds()))
			fm.del = append(fm.del, pipeline.AppendCommand(nil, "EVALSHA", script.Release.Args(nil, []string{key}, token)...))
		}
		f.masters = append(f.masters, fm)
	}
	return f, nil
}

func (f *floor) close() error {
	var all []error
	for _, m := range f.masters {
		all = append(all, m.conn.Close())
	}
	return errors.Join(all...)
}

// run acquires and releases that many locks on every master.
func (f *floor) run(pairs int) error {
	failures := make(chan error, len(f.masters))
	for _, m := range f.masters {
		go func() { failures <- m.run(pairs) }()
	}
	var all []error
	for range f.masters {
		all = append(all, <-failures)
	}
	return errors.Join(all...)
}

func (m *floorMaster) run(pairs int) error {
	for left := pairs; left > 0; left -= len(m.set) {
		n := min(left, len(m.set))
		if err := m.batch(&m.setN, m.set[:n], m.ok[:5*n]); err != nil {
			return err
		}
		if err := m.batch(&m.delN, m.del[:n], m.one[:4*n]); err != nil {
			return err
		}
	}
	return nil
}

func (m *floorMaster) batch(room *[]byte, commands [][]byte, want []byte) error {
	b := (*room)[:0]
	for _, c := range commands {
		b = append(b, c...)
	}
	*room = b
	if _, err := m.conn.Write(b); err != nil {
		return err
	}
	got := m.replies[:len(want)]
	if _, err := io.ReadFull(m.conn, got); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s answers %.60q, want %.60q", m.conn.RemoteAddr(), got, want)
	}
	return nil
}

// benchmarkFloor is benchmarkPairs for the floor.
func benchmarkFloor(b *testing.B, masters *redistest.Cluster, goroutines int) {
	b.Run(fmt.Sprintf("lib=floor/goroutines=%d", goroutines), func(b *testing.B) {
		ctx, cancel := context.WithTimeout(b.Context(), connectBound)
		defer cancel()
		f, err := openFloor(ctx, masters, goroutines)
		if err != nil {
			b.Fatal(err)
		}
		defer func() {
			if err := f.close(); err != nil {
				b.Error(err)
			}
		}()
		if err := f.run(goroutines * warmUpPairs); err != nil {
			b.Fatal(err)
		}
		client, server := clientCPU(b), serverCPU(b, masters)
		b.ResetTimer()
		if err := f.run(b.N); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		client, server = clientCPU(b)-client, serverCPU(b, masters)-server
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
		b.ReportMetric(microseconds(client)/float64(b.N), "client-cpu-µs/op")
		b.ReportMetric(microseconds(server)/float64(b.N), "server-cpu-µs/op")
	})
}
