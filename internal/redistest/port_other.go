//go:build !linux

package redistest

// reservePort finds a port that is free now. Other systems than Linux do not let a server
// bind beside a socket that keeps the port for it, so that someone else may take it first.
func reservePort() (port int, free func() error, err error) {
	port, err = freePort(0)
	return port, nil, err
}
