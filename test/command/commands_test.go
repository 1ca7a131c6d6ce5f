package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/testutil"
)

var programs string // where redlock and redlock-demo are, built once by TestMain

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "redquorum-command")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	programs = dir
	testutil.HeedSignals()
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", dir+string(filepath.Separator),
		"./cmd/redlock", "./cmd/redlock-demo")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

func TestScripts(t *testing.T) { runScripts(t, "testdata") }

// TestSlowScripts runs the scripts that wait for seconds.
func TestSlowScripts(t *testing.T) { runScripts(t, filepath.Join("testdata", "slow")) }

// scriptBound ends a script whose event does not come. On a busy machine all scripts take a
// minute.
const scriptBound = 5 * time.Minute

func runScripts(t *testing.T, dir string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir:      dir,
		Deadline: time.Now().Add(scriptBound),
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
			// TOKEN is the part of a token of the library behind the owner's name.
			env.Setenv("TOKEN", ":dc0ofu9ksdue9s8caem0:54a329938b2398e2921c05e19f4a66a1")
			env.Values["masters"] = map[string][]*redistest.Server{}
			env.Values["test"] = env.T()
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"masters": start,
			"crash":   each((*redistest.Server).Kill),
			"freeze":  each((*redistest.Server).Freeze),
			"thaw":    each((*redistest.Server).Thaw),
			"restart": each(func(m *redistest.Server) error { return m.Restart(context.Background(), true) }),
			"empty":   each(func(m *redistest.Server) error { return m.Restart(context.Background(), false) }),
			"redis":   func(ts *testscript.TestScript, _ bool, args []string) { fmt.Fprint(ts.Stdout(), ask(ts, args)) },
			"exits":   exits,
			"fails":   fails,
			"until":   until,
		},
	})
}

// start is the command masters [NAME] N [OPTION]...: it starts N masters. Other commands know each
// as NAME1 to NAMEn, and all of them as NAME. Variables of these names hold the addresses and the
// list of URLs; NAMEport1 is the first one's port. The default name is m, and its list is also in
// REDLOCK_MASTERS. Options are fields of redistest.Config; tls writes its authority to NAME.pem.
func start(ts *testscript.TestScript, _ bool, args []string) {
	name := "m"
	if _, err := strconv.Atoi(args[0]); err != nil {
		name, args = args[0], args[1:]
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	var cfg redistest.Config
	for _, option := range args[1:] {
		option, value, _ := strings.Cut(option, "=")
		switch option {
		case "aof":
			cfg.AppendOnly = redistest.AppendAlways
		case "acl":
			cfg.ACL = append(cfg.ACL, value)
		case "user":
			cfg.Username = value
		case "password":
			cfg.Password = value
		case "policy":
			cfg.MaxMemoryPolicy = value
		case "member":
			cfg.Member = true
		case "tls":
			cfg.TLS, err = redistest.NewAuthority()
			ts.Check(err)
			ts.Check(os.WriteFile(ts.MkAbs(name+".pem"), cfg.TLS.PEM(), 0o600))
		default:
			ts.Fatalf("masters: unknown option %q", option)
		}
	}
	c := redistest.Start(ts.Value("test").(redistest.TB), n, cfg)
	known := ts.Value("masters").(map[string][]*redistest.Server)
	known[name] = c.Masters
	for i, m := range c.Masters {
		number := strconv.Itoa(i + 1)
		known[name+number] = c.Masters[i : i+1]
		_, port, _ := strings.Cut(m.Addr(), ":")
		ts.Setenv(name+number, m.Addr())
		ts.Setenv(name+"port"+number, port)
	}
	ts.Setenv(name, strings.Join(c.URLs(), ","))
	if name == "m" {
		ts.Setenv("REDLOCK_MASTERS", ts.Getenv(name))
	}
}

// chosen returns the masters that a list of names means.
func chosen(ts *testscript.TestScript, names string) (all []*redistest.Server) {
	for name := range strings.SplitSeq(names, ",") {
		some := ts.Value("masters").(map[string][]*redistest.Server)[name]
		if some == nil {
			ts.Fatalf("there are no masters %q", name)
		}
		all = append(all, some...)
	}
	return all
}

// each is a command that calls do for the named masters.
func each(do func(*redistest.Server) error) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		for _, m := range chosen(ts, strings.Join(args, ",")) {
			ts.Check(do(m))
		}
	}
}

// ask is the command redis NAME[,NAME]... COMMAND [ARG]...: it sends the masters a command, and
// prints a line for each value.
func ask(ts *testscript.TestScript, args []string) string {
	var b strings.Builder
	for _, m := range chosen(ts, args[0]) {
		command := make([]any, len(args)-2)
		for i, arg := range args[2:] {
			command[i] = arg
		}
		reply, err := m.Do(args[1], command...)
		ts.Check(err)
		values, several := reply.([]any)
		if !several {
			values = []any{reply}
		}
		for _, v := range values {
			if text, ok := v.([]byte); ok {
				v = string(text)
			}
			fmt.Fprintln(&b, v)
		}
	}
	return b.String()
}

// run runs a program to its end, and fails if it prints a password.
func run(ts *testscript.TestScript, args []string) (code int) {
	err := ts.Exec(args[0], args[1:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			code = 128 + int(status.Signal()) // as a shell has it
		}
	} else {
		ts.Check(err)
	}
	if strings.Contains(ts.ReadFile("stdout")+ts.ReadFile("stderr"), "s3cret") {
		ts.Fatalf("a password is printed")
	}
	return code
}

// exits is the command exits CODE PROGRAM [ARG]...: the program must exit with CODE.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	if code := run(ts, args[1:]); strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// fails is the command fails CODE TEXT PROGRAM [ARG]...: the program must print only an error
// with this text. If TEXT ends with ": ", the system's own text may follow.
func fails(ts *testscript.TestScript, _ bool, args []string) {
	exits(ts, false, append(args[:1:1], args[2:]...))
	_, is, _ := strings.Cut(ts.ReadFile("stderr"), ": ")
	if want := args[1]; is != want+"\n" && !(strings.HasSuffix(want, ": ") && strings.HasPrefix(is, want) && strings.Count(is, "\n") == 1) {
		ts.Fatalf("%q, want %q", is, want)
	}
	if ts.ReadFile("stdout") != "" {
		ts.Fatalf("it prints more than the error")
	}
}

// until is the command until PATTERN redis|PROGRAM [ARG]...: it repeats that until the output
// matches, for a minute at most.
func until(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile("(?m)" + args[0])
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		var text string
		if args[1] == "redis" {
			text = ask(ts, args[2:])
		} else {
			run(ts, args[1:])
			text = ts.ReadFile("stdout") + ts.ReadFile("stderr")
		}
		if pattern.MatchString(text) {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("not within a minute: %q", text)
		}
	}
}
