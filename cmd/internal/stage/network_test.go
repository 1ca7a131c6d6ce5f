package stage

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// linked is both ends of a connection over a network with one link.
func linked(t *testing.T) (n *network, l *link, near, far net.Conn) {
	t.Helper()
	near, far = net.Pipe()
	n = newNetwork(func(context.Context, string, string) (net.Conn, error) { return near, nil }, []string{"redis://m"})
	conn, err := n.dialer(t.Context(), "tcp", "m")
	if err != nil {
		t.Fatal(err)
	}
	return n, n.links[0], conn, far
}

func TestWhatIsSentOverACutLinkArrivesWhenItIsHealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l, near, far := linked(t)
		defer func() { _, _ = near.Close(), far.Close() }()
		l.cut()
		l.cut()
		began := time.Now()
		time.AfterFunc(time.Minute, l.heal)
		go func() { _, _ = near.Write([]byte("ping")) }()
		buf := make([]byte, 4)
		if _, err := io.ReadFull(far, buf); err != nil || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestWhatIsReceivedOverACutLinkIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l, near, far := linked(t)
		defer func() { _ = near.Close() }()
		l.cut()
		go func() { _, _ = far.Write([]byte("pong")); _ = far.Close() }()
		began := time.Now()
		time.AfterFunc(time.Minute, l.heal)
		buf := make([]byte, 4)
		if _, err := io.ReadFull(near, buf); err != nil || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestClosingEndsWhatWaitsForACutLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, l, near, far := linked(t)
		defer func() { _ = far.Close() }()
		l.cut()
		failed := make(chan error, 2)
		go func() { _, err := near.Write([]byte("x")); failed <- err }()
		go func() { _, err := near.Read(make([]byte, 1)); failed <- err }()
		synctest.Wait()
		_ = near.Close()
		for range 2 {
			if err := <-failed; err == nil {
				t.Error("no error")
			}
		}
	})
}

func TestADialOverACutLinkWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, l, near, far := linked(t)
		defer func() { _, _ = near.Close(), far.Close() }()
		l.cut()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := n.dialer(ctx, "tcp", "m"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		time.AfterFunc(time.Second, l.heal)
		if _, err := n.dialer(t.Context(), "tcp", "m"); err != nil {
			t.Error(err)
		}
	})
}
