package redistest

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

func TestThePortOfAKilledServerStaysReserved(t *testing.T) {
	c := Start(t, 2, Config{})
	down, up := c.Masters[0], c.Masters[1]
	if err := down.Kill(); err != nil {
		t.Fatal(err)
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: down.port}, Timeout: waitBound}
	conn, err := dialer.Dial("tcp", up.Addr())
	if err == nil {
		_ = conn.Close()
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a connection from the port: %v; want %v", err, syscall.EADDRINUSE)
	}
	if _, err := net.DialTimeout("tcp", down.Addr(), waitBound); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a connection to the port: %v; want %v", err, syscall.ECONNREFUSED)
	}
	if err := down.Restart(background(t), true); err != nil {
		t.Error(err)
	}
}
