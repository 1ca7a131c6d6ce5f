package container

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
)

// sweeper is the argument that makes the test binary a sweeper.
const sweeper = "sweeper"

func TestMain(m *testing.M) {
	// Masters are broken on purpose: their clients' warnings would bury the results.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if len(os.Args) == 3 && os.Args[1] == sweeper {
		if err := Sweep(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// engine is the one that there is; the test is skipped, with the reason, where
// there is none.
func engine(t *testing.T) *Engine {
	t.Helper()
	images := []string{OfficialImage, LocalImage}
	if image := os.Getenv(ImageVariable); image != "" {
		images = []string{image}
	}
	var errs []error
	for _, image := range images {
		e, err := Find(t.Context(), image)
		if err == nil {
			return e
		}
		errs = append(errs, err)
	}
	t.Skipf("needs containers: %v", errs[0])
	return nil
}

// started starts masters, and checks in the end that nothing of them is left.
func started(t *testing.T, e *Engine, n int) (demo.Breaker, *Cluster) {
	t.Helper()
	b, err := e.Start(t.Context(), n, sweeper)
	if err != nil {
		t.Fatal(err)
	}
	var c *Cluster
	switch b := b.(type) {
	case *onNetwork:
		c = b.Cluster
	case *Cluster:
		c = b
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if left, err := e.sweepOnce(context.Background(), c.run); left || err != nil {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	return b, c
}

// do sends a command to a master and gives what it answers as text.
func (c *Cluster) do(t *testing.T, n int, cmd string, args ...any) string {
	t.Helper()
	reply, err := ask(t.Context(), c.masters[n].address, cmd, args...)
	if err != nil {
		return "error: " + err.Error()
	}
	if b, ok := reply.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(reply)
}

func TestMastersTakeFaults(t *testing.T) {
	found := engine(t)
	for name, direct := range map[string]bool{"on their network": true, "by published ports": false} {
		t.Run(name, func(t *testing.T) {
			e := *found
			if direct && !e.direct {
				t.Skip("needs a network of containers that is reached from here: the engine's is elsewhere")
			}
			e.direct = direct
			b, c := started(t, &e, 2)
			if b.Kind() != demo.KindContainers || !strings.HasPrefix(b.Version(), "redis-server ") || !strings.HasSuffix(b.Version(), " ("+e.image+")") {
				t.Errorf("%s, %q", b.Kind(), b.Version())
			}
			urls := strings.Join(b.URLs(), ",")
			if strings.HasPrefix(urls, "redis://127.0.0.1:") == direct {
				t.Errorf("reached at %s", urls)
			}
			want := func(what, got, want string) {
				t.Helper()
				if got != want {
					t.Errorf("%s: %q, want %q", what, got, want)
				}
			}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			want("SET", c.do(t, 0, "SET", "key", "value"), "OK")
			must(b.Kill(0))
			must(b.Kill(0))
			if got := c.do(t, 0, "PING"); !strings.HasPrefix(got, "error: ") {
				t.Errorf("a master that was killed answers %q", got)
			}
			must(b.Restart(t.Context(), 0))
			want("restarted", c.do(t, 0, "GET", "key"), "value")
			must(b.Freeze(0))
			must(b.Freeze(0))
			if got := c.do(t, 0, "PING"); !strings.Contains(got, "timeout") {
				t.Errorf("a frozen master answers %q", got)
			}
			want("beside it", c.do(t, 1, "PING"), "PONG")
			must(b.Thaw(0))
			must(b.Thaw(0))
			want("thawed", c.do(t, 0, "GET", "key"), "value")
			must(b.Freeze(0))
			must(b.Kill(0))
			must(b.Restart(t.Context(), 0))
			want("killed while frozen", c.do(t, 0, "GET", "key"), "value")
			must(b.Restart(t.Context(), 0))
			want("restarted while it ran", c.do(t, 0, "GET", "key"), "value")
			must(b.Forget(t.Context(), 0))
			want("emptied", c.do(t, 0, "DBSIZE"), "0")
			if err := b.SetClock(0, time.Second); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("SetClock: %v", err)
			}
			if err := b.Freeze(0); err != nil {
				t.Error(err)
			}
			want("the addresses", strings.Join(b.URLs(), ","), urls)
			if _, ok := b.(demo.Cutter); ok != direct {
				t.Errorf("can be cut off: %v", ok)
			}
		})
	}
}

func TestMastersAreCutOffTheirNetwork(t *testing.T) {
	e := engine(t)
	if !e.direct {
		t.Skip("needs a network of containers that is reached from here: the engine's is elsewhere")
	}
	b, c := started(t, e, 2)
	net := b.(demo.Cutter)
	silent := func(when string) {
		t.Helper()
		if got := c.do(t, 0, "PING"); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s it answers %q", when, got)
		}
	}
	step := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	c.do(t, 0, "SET", "key", "value")
	step(net.Cut(0))
	step(net.Cut(0))
	silent("cut off")
	if got := c.do(t, 1, "PING"); got != "PONG" {
		t.Errorf("beside it: %q", got)
	}
	step(net.Restart(t.Context(), 0))
	silent("restarted while cut off")
	step(net.Heal(0))
	step(net.Heal(0))
	if got := c.do(t, 0, "GET", "key"); got != "value" {
		t.Errorf("healed: %q", got)
	}
	step(net.Cut(0))
	step(net.Forget(t.Context(), 0))
	silent("emptied while cut off")
	step(net.Heal(0))
	if got := c.do(t, 0, "DBSIZE"); got != "0" {
		t.Errorf("emptied and healed: %q", got)
	}
}

func TestNothingIsLeftWhereAStartFails(t *testing.T) {
	e := *engine(t)
	e.image += "-that-is-not-there"
	b, err := e.Start(t.Context(), 2, sweeper)
	if err == nil || b != nil {
		t.Fatalf("%v, %v", b, err)
	}
	said, err := e.run(t.Context(), commandBound, "network", "ls", "--format", "{{.Name}}")
	if err != nil || strings.Contains(said, fmt.Sprintf("redlock-demo-%d-", os.Getpid())) {
		t.Errorf("left behind: %s, %v", said, err)
	}
}

func TestAStartThatIsOverBeforeItBeganLeavesNothing(t *testing.T) {
	e := engine(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the reason")
	cancel(reason)
	if b, err := e.Start(ctx, 2, sweeper); b != nil || !errors.Is(err, reason) {
		t.Errorf("%v, %v", b, err)
	}
}
