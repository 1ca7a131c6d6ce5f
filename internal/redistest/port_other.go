//go:build !linux

package redistest

import (
	"fmt"
	"net"
)

// reservePort finds a port that is free now. Other systems than Linux do not let
// a server bind beside a socket that keeps the port for it, so that someone else
// may take it first; Launch then tries another.
func reservePort() (*reservation, error) {
	l, err := net.Listen("tcp4", loopback(0))
	if err != nil {
		return nil, fmt.Errorf("redistest: reserve a port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return nil, fmt.Errorf("redistest: reserve a port: %w", err)
	}
	return &reservation{port: port}, nil
}
