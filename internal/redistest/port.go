package redistest

import (
	"errors"
	"net"
	"strconv"
)

// errPortTaken says that another process listens on the port that a server was
// to listen on.
var errPortTaken = errors.New("the port is taken by another process")

// portTries is how many ports Launch tries when each was taken before the server
// could bind it.
const portTries = 10

// reservation is a loopback port that is kept for one server, also while that
// server is down.
type reservation struct {
	port int
	free func() error // nil when there is nothing to give back
}

func (r *reservation) release() error {
	if r == nil || r.free == nil {
		return nil
	}
	free := r.free
	r.free = nil
	return free()
}

func loopback(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
