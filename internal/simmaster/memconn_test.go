package simmaster

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func pair(t *testing.T) (net.Conn, net.Conn) {
	a, b := Pipe("a", "b", Buffer)
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return a, b
}

func wantRead(t *testing.T, c net.Conn, want string, wantErr error) {
	t.Helper()
	buf := make([]byte, 64)
	n, err := c.Read(buf)
	if string(buf[:n]) != want || !errors.Is(err, wantErr) {
		t.Fatalf("Read: %q, %v; want %q, %v", buf[:n], err, want, wantErr)
	}
}

func wantSince(t *testing.T, began time.Time, want time.Duration) {
	t.Helper()
	if took := time.Since(began); took != want {
		t.Fatalf("it took %v, want %v", took, want)
	}
}

func TestWhatWasSentBeforeACloseIsReadBeforeEOF(t *testing.T) {
	a, b := pair(t)
	mustWrite(t, a, "last words")
	_ = a.Close()
	wantRead(t, b, "last words", nil)
	wantRead(t, b, "", io.EOF)
	if _, err := b.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Fatalf("writing to a closed end: %v, want EPIPE", err)
	}
	wantRead(t, a, "", net.ErrClosed)
	if _, err := a.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Fatalf("writing at a closed end: %v, want ErrClosed", err)
	}
	if err := a.SetDeadline(time.Now()); !errors.Is(err, net.ErrClosed) {
		t.Fatalf("a deadline for a closed end: %v, want ErrClosed", err)
	}
}

func TestAResetIsSeenAfterTheBytesThatHadArrived(t *testing.T) {
	a, b := pair(t)
	mustWrite(t, a, "late")
	if err := a.(*Conn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	_ = a.Close()
	wantRead(t, b, "late", nil)
	wantRead(t, b, "", syscall.ECONNRESET)
}

func TestAWriterWaitsForRoomAndForNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t)
		mustWrite(t, a, string(make([]byte, Buffer)))
		done := make(chan error, 1)
		go func() {
			_, err := a.Write([]byte("more"))
			done <- err
		}()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("a full buffer took more: %v", err)
		default:
		}
		if _, err := io.ReadFull(b, make([]byte, Buffer)); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		wantRead(t, b, "more", nil)
	})
}

func TestDeadlinesEndWaitsAtTheirInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t)
		began := time.Now()
		_ = a.SetDeadline(began.Add(3 * time.Second))
		wantRead(t, a, "", os.ErrDeadlineExceeded)
		wantSince(t, began, 3*time.Second)

		var ne net.Error
		_, err := a.Write([]byte("x"))
		if !errors.As(err, &ne) || !ne.Timeout() {
			t.Fatalf("a write after its deadline: %v, want a timeout", err)
		}
		_ = a.SetDeadline(time.Time{})
		mustWrite(t, b, "in time")
		wantRead(t, a, "in time", nil)

		_ = a.SetWriteDeadline(time.Now().Add(time.Second))
		n, err := a.Write(make([]byte, Buffer+10))
		if n != Buffer || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("a write into a full buffer: %d, %v", n, err)
		}
	})
}

func TestMovingADeadlineReachesTheReadInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := pair(t)
		began := time.Now()
		_ = a.SetReadDeadline(began.Add(time.Second))
		go func() {
			time.Sleep(500 * time.Millisecond)
			_ = a.SetReadDeadline(began.Add(5 * time.Second))
		}()
		wantRead(t, a, "", os.ErrDeadlineExceeded)
		wantSince(t, began, 5*time.Second)

		_ = a.SetReadDeadline(time.Time{})
		go func() {
			time.Sleep(time.Second)
			_ = a.SetReadDeadline(time.Now().Add(-time.Second))
		}()
		wantRead(t, a, "", os.ErrDeadlineExceeded)
		wantSince(t, began, 6*time.Second)
	})
}

func TestCloseEndsTheReadAndTheWritesInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := pair(t)
		mustWrite(t, a, string(make([]byte, Buffer)))
		errs := make(chan error, 3)
		go func() { _, err := a.Read(make([]byte, 1)); errs <- err }()
		for range 2 { // one waits for room, the other for the first
			go func() { _, err := a.Write([]byte("x")); errs <- err }()
		}
		synctest.Wait()
		_ = a.Close()
		for range 3 {
			if err := <-errs; !errors.Is(err, net.ErrClosed) {
				t.Fatalf("got %v, want ErrClosed", err)
			}
		}
	})
}

func TestConcurrentWritesArriveInOnePieceEach(t *testing.T) {
	a, b := pair(t)
	const size = Buffer + 1000 // more than fits at once
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			if _, err := a.Write(bytes.Repeat([]byte{byte('a' + i)}, size)); err != nil {
				t.Error(err)
			}
		})
	}
	for range 4 {
		piece := make([]byte, size)
		if _, err := io.ReadFull(b, piece); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(piece, piece[:1]); n != size {
			t.Fatalf("a piece of %d bytes has %d of its first one", size, n)
		}
	}
	wg.Wait()
}
