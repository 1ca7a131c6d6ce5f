// Package port reserves loopback ports for servers that stop and start again.
package port

import (
	"errors"
	"os"
	"syscall"
)

// Reserve lets the kernel choose a free port of 127.0.0.1 and keeps it until free is called, with a
// socket that is bound but never listens.
//
// The socket is bound exclusively and only then marked SO_REUSEADDR. So no two reservations
// coincide, also across processes. While the server is down, no other server and no outgoing
// connection gets the port: clients that redial would reach a stranger, or themselves. The server
// sets SO_REUSEADDR as well, so it can bind and listen. While it is down, connections to the port
// are refused.
func Reserve() (port int, free func() error, err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, os.NewSyscallError("socket", err)
	}
	if port, err = bindAndShare(fd); err != nil {
		return 0, nil, errors.Join(err, syscall.Close(fd))
	}
	return port, func() error { return os.NewSyscallError("close", syscall.Close(fd)) }, nil
}

func bindAndShare(fd int) (port int, err error) {
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, os.NewSyscallError("bind", err)
	}
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	addr, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	return addr.(*syscall.SockaddrInet4).Port, nil
}
