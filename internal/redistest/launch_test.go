package redistest

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
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

func TestSnatchedPortsAreNotTriedForever(t *testing.T) {
	other := start(t, Config{})
	tries := 0
	_, err := launch(background(t), Config{}, func() (*reservation, error) {
		tries++
		return &reservation{port: other.port}, nil
	})
	if !errors.Is(err, errPortTaken) || tries != portTries {
		t.Errorf("after %d ports: %v; want %d and %v", tries, err, portTries, errPortTaken)
	}
}

func TestAGivenPortThatIsTakenIsAnError(t *testing.T) {
	other := start(t, Config{})
	_, err := Launch(background(t), Config{Port: other.port})
	if !errors.Is(err, errPortTaken) || !strings.Contains(err.Error(), other.Addr()) {
		t.Errorf("got %v; want %v and the address %s", err, errPortTaken, other.Addr())
	}
}

func TestAnotherServerCanTakeOverAnAddress(t *testing.T) {
	before := start(t, Config{})
	id := runID(t, before)
	if err := before.Kill(); err != nil {
		t.Fatal(err)
	}
	after := start(t, Config{Port: before.port})
	if after.Addr() != before.Addr() || runID(t, after) == id {
		t.Errorf("%s with run id %s took over %s with run id %s", after.Addr(), runID(t, after), before.Addr(), id)
	}
	if err := before.Restart(background(t), true); !errors.Is(err, errPortTaken) {
		t.Errorf("restart at an address that was taken over: %v; want %v", err, errPortTaken)
	}
	if pid := before.PID(); pid != 0 {
		t.Errorf("after a restart that failed the process id is %d; want 0", pid)
	}
}

func TestAServerThatEndsAtOnceShowsItsLog(t *testing.T) {
	needRedis(t)
	dir := temporary(t)
	_, err := Launch(background(t), Config{Args: []string{"--no-such-directive", "1"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-directive") || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("got %v; want the exit status and what the server said", err)
	}
	mustBeEmpty(t, dir)
}

func TestAServerThatNeverAnswersIsGivenUp(t *testing.T) {
	script(t, "echo I never answer; echo $$ >$PIDFILE; exec sleep 600")
	dir := temporary(t)
	pidFile := t.TempDir() + "/pid"
	ctx, cancel := context.WithCancel(background(t))
	defer cancel()
	launched := make(chan error, 1)
	go func() {
		_, err := Launch(ctx, Config{Env: []string{"PIDFILE=" + pidFile}})
		launched <- err
	}()
	var pid int
	eventually(t, "the process runs and has said so", func() bool {
		text, err := os.ReadFile(pidFile)
		if err != nil || !strings.HasSuffix(string(text), "\n") {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	cancel()
	select {
	case err := <-launched:
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "I never answer") {
			t.Errorf("got %v; want %v and the log", err, context.Canceled)
		}
	case <-time.After(waitBound):
		t.Fatalf("Launch did not return within %v of the end of its context", waitBound)
	}
	if alive(pid) {
		t.Errorf("process %d was left behind", pid)
	}
	mustBeEmpty(t, dir)
}

func TestAContextThatIsOverStartsNothing(t *testing.T) {
	needRedis(t)
	dir := temporary(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Launch(ctx, Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want %v", err, context.Canceled)
	}
	mustBeEmpty(t, dir)
}

func TestTheEnvironmentReachesTheServer(t *testing.T) {
	needRedis(t)
	path, err := lookUp()
	if err != nil {
		t.Fatal(err)
	}
	script(t, `echo "the variable is $REDISTEST_SOME_VARIABLE"; exec "`+path+`" "$@"`)
	s := start(t, Config{Env: []string{"REDISTEST_SOME_VARIABLE=some value"}})
	if !strings.Contains(s.Log(), "the variable is some value\n") {
		t.Errorf("the variable did not reach the server, whose log is\n%s", s.Log())
	}
}
