//go:build !linux

// Package port reserves loopback ports for servers that stop and start again.
package port

import "net"

// Reserve finds a port of 127.0.0.1 that is free now. Only Linux lets a server bind a port that
// another socket keeps for it. So on other systems another process may take the port.
func Reserve() (port int, free func() error, err error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, nil, err
	}
	return l.Addr().(*net.TCPAddr).Port, func() error { return nil }, l.Close()
}
