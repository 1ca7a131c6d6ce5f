package redistest

import (
	"errors"
	"net"
	"strings"
	"testing"
)

// ports returns a choice of ports for launch that begins with the given ones, and
// the number of choices made so far.
func ports(first ...int) (reserve func() (*reservation, error), made *int) {
	made = new(int)
	return func() (*reservation, error) {
		*made++
		if *made <= len(first) {
			return &reservation{port: first[*made-1]}, nil
		}
		return reservePort()
	}, made
}

func TestAPortThatIsSnatchedIsReplaced(t *testing.T) {
	stranger, err := net.Listen("tcp4", loopback(0))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Close() }()
	taken := stranger.Addr().(*net.TCPAddr).Port
	// Another Redis would even answer PING in the place of the server.
	other := start(t, Config{})

	for name, cfg := range map[string]Config{"TCP": {}, "TLS": {TLS: authority(t)}} {
		t.Run(name, func(t *testing.T) {
			Need(t, cfg.Needs()...)
			reserve, made := ports(taken, other.port)
			s, err := launch(background(t), cfg, reserve)
			if err != nil {
				t.Fatal(err)
			}
			if *made != 3 || s.port == taken || s.port == other.port {
				t.Errorf("it listens on port %d after %d choices; want one that is free, after 3", s.port, *made)
			}
			if runID(t, s) == runID(t, other) {
				t.Error("the server is taken for the one that had the port before")
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAGivenPortThatIsTakenIsAnError(t *testing.T) {
	other := start(t, Config{})
	_, err := Launch(background(t), Config{Port: other.port})
	if !errors.Is(err, errPortTaken) || !strings.Contains(err.Error(), other.Addr()) {
		t.Errorf("got %v; want %v and the address %s", err, errPortTaken, other.Addr())
	}
}
