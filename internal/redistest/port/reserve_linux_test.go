package port

import (
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
)

func TestAReservedPortIsOfItsServerAlone(t *testing.T) {
	n, free, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = free() })
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(n))
	for range 2 { // the second time after a life of the server
		if conn, err := net.Dial("tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("a connection to the port while the server is down: %v, %v; want %v", conn, err, syscall.ECONNREFUSED)
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal("the server itself:", err)
		}
		_ = l.Close()
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: n}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a socket of another process at the port: %v; want %v", err, syscall.EADDRINUSE)
	}
}
