//go:build !linux

// Package port keeps loopback ports for servers that come and go.
package port

import "net"

// Reserve finds a port of 127.0.0.1 that is free now. Other systems than Linux do not let a server
// bind beside a socket that keeps the port for it, so that someone else may take it.
func Reserve() (port int, free func() error, err error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	return l.Addr().(*net.TCPAddr).Port, func() error { return nil }, l.Close()
}
