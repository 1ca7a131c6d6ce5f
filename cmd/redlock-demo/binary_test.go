package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files")

var binary string // built once by TestMain

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
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	heedSignals()
	return m.Run()
}

// heedSignals makes sure that commands started by the tests die of the signals that end
// programs. nohup and a shell's & make the tests ignore them, and a child would inherit
// that.
func heedSignals() {
	for _, sig := range []os.Signal{syscall.SIGHUP, os.Interrupt} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

// command is the binary with the arguments, in an environment without what
// the commands look at, but for env.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binary, args...)
	for _, v := range os.Environ() {
		switch name, _, _ := strings.Cut(v, "="); name {
		case mastersVariable, "REDIS_SERVER", "NO_COLOR", "TERM":
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

// codeOf is the exit code of a command that has ended by itself.
func codeOf(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || !exit.Exited() {
		t.Fatalf("the command did not end by itself: %v", err)
	}
	return exit.ExitCode()
}

// A watched is output that is looked at while it grows.
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

// await waits until the output holds word.
func (w *watched) await(t *testing.T, word string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(w.String(), word); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q was not printed within a minute:\n%s", word, w.String())
		}
	}
}

// golden compares what people read with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("not as in %s (go test -update writes it):\n%s", name, got)
	}
}

// A mistake is arguments that are refused, and in which sentence.
type mistake struct {
	args []string
	want string
}

// refuses checks that a command refuses mistakes.
func refuses(t *testing.T, name string, mistakes []mistake) {
	t.Helper()
	for _, m := range mistakes {
		stdout, stderr, code := output(t, nil, append([]string{name}, m.args...)...)
		if code != exitUsage || stdout != "" || stderr != "redlock-demo: "+m.want+"\n" {
			t.Errorf("%q: exit code %d, %q, %q", m.args, code, stdout, stderr)
		}
	}
}

// endsUnread checks that a command ends soon and quietly where nobody reads what it
// prints.
func endsUnread(t *testing.T, args ...string) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = read.Close()
	defer func() { _ = write.Close() }()
	cmd := command(t, nil, args...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = write, &stderr
	began := time.Now()
	if code := codeOf(t, cmd.Run()); code != exitOutput || stderr.String() != "" {
		t.Errorf("%q: exit code %d, %q", args, code, stderr.String())
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("%q: ended after %v", args, took)
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, met func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !met(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
