package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/testutil"
	"github.com/redquorum/redquorum/internal/redistest"
)

var binary string // redlock-demo, built once by TestMain; redlock is beside it

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "redlock-demo")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "redlock-demo")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	// Without debug information: linking it takes a third of the time.
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", dir+string(filepath.Separator), ".", "../redlock")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	testutil.HeedSignals()
	return m.Run()
}

// command returns the binary with the arguments. Its environment has env, and no other
// variables that the commands read.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binary, args...)
	for _, v := range os.Environ() {
		switch name, _, _ := strings.Cut(v, "="); name {
		case app.MastersVariable, "REDIS_SERVER", "NO_COLOR", "TERM":
		default:
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// output runs the binary to its end.
func output(t *testing.T, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := command(t, env, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	return out.String(), errs.String(), codeOf(t, err)
}

// codeOf returns the exit code of a command, as in a shell.
func codeOf(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatal(err)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// A watched is output that a test reads while it grows.
type watched struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// await waits until the output contains word.
func (w *watched) await(t *testing.T, word string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(w.String(), word); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q was not printed within a minute:\n%s", word, w.String())
		}
	}
}

// awaitRenewals waits for n more renewals in the output of --verbose.
func (w *watched) awaitRenewals(t *testing.T, n int) {
	t.Helper()
	w.await(t, fmt.Sprintf("renewed %q, %d so far", "k", strings.Count(w.String(), "renewed")+n))
}

// A running is a command whose output a test can read.
type running struct {
	cmd            *exec.Cmd
	stdout, stderr watched
}

func start(t *testing.T, c *redistest.Cluster, args ...string) *running {
	t.Helper()
	return startCommand(t, command(t, []string{"REDLOCK_MASTERS=" + addresses(c)}, append([]string{"exec"}, args...)...))
}

func startCommand(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	r := &running{cmd: cmd}
	cmd.Stdout, cmd.Stderr = &r.stdout, &r.stderr
	cmd.WaitDelay = 20 * time.Second // for a command that outlives exec
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // unless it has ended
	})
	return r
}

func (r *running) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func (r *running) end(t *testing.T) int {
	t.Helper()
	return codeOf(t, r.cmd.Wait())
}
