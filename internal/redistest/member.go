package redistest

import (
	"errors"
	"net"
)

// busOffset is how far above its port a member of a Redis Cluster listens for the
// others. Only since Redis 7.0 may it be told another port.
const busOffset = 10_000

// Member returns the configuration of one member of a Redis Cluster, for one
// server: its port and the one for the other members were free a moment ago.
func Member() (Config, error) {
	for range 100 {
		port, err := freePort(0)
		if err != nil {
			return Config{}, err
		}
		if bus := port + busOffset; bus <= 65_535 {
			if _, err := freePort(bus); err == nil {
				return Config{Port: port, Args: []string{"--cluster-enabled", "yes"}}, nil
			}
		}
	}
	return Config{}, errors.New("redistest: no free port with a free one 10,000 above it")
}

// freePort returns a port that nobody listens on: the given one, or any for 0.
func freePort(port int) (int, error) {
	l, err := net.Listen("tcp4", loopback(port))
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
