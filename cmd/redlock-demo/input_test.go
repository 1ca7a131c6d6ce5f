package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
)

func TestBadInputGetsOneSentenceAndTheUsageCode(t *testing.T) {
	t.Parallel()
	notRedis := filepath.Join(t.TempDir(), "not-redis")
	if err := os.WriteFile(notRedis, []byte("#!/bin/sh\necho some other program, v1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	const three = "redis://127.0.0.1:1,redis://127.0.0.1:2,redis://127.0.0.1:3"
	for _, test := range []struct {
		name string
		env  []string
		args []string
		want string // of the sentence
	}{
		{"unknown flag", nil, []string{"--nosuch"}, "unknown flag: --nosuch (see redlock-demo --help)"},
		{"unknown flag of demo", nil, []string{"demo", "-x"}, "unknown shorthand flag: 'x' in -x (see redlock-demo demo --help)"},
		{"unknown command", nil, []string{"nosuch"}, `unknown command "nosuch" (see redlock-demo --help)`},
		{"misspelt command", nil, []string{"dmeo"}, `unknown command "dmeo": did you mean demo? (see redlock-demo --help)`},
		{"argument of demo", nil, []string{"demo", "extra"}, `unexpected argument "extra" (see redlock-demo demo --help)`},
		{"URL as an argument", nil, []string{"redis://u:secret@h"}, "unexpected argument that looks like a URL: name the masters by --masters url,url,…"},
		{"URL as an argument of demo", nil, []string{"demo", "redis://u:secret@h"}, "unexpected argument that looks like a URL: name the masters by --masters url,url,…"},
		{"URL as a number", nil, []string{"--buyers", "redis://u:secret@h"}, `--buyers "redis://[redacted]@h": want a whole number from 2 to 100 (see redlock-demo --help)`},
		{"few buyers", nil, []string{"--buyers", "1"}, `--buyers "1": want a whole number from 2 to 100 (see redlock-demo --help)`},
		{"many buyers", nil, []string{"demo", "--buyers", "101"}, `--buyers "101": want a whole number from 2 to 100 (see redlock-demo demo --help)`},
		{"buyers in words", nil, []string{"--buyers", "some"}, `--buyers "some": want a whole number from 2 to 100 (see redlock-demo --help)`},
		{"no stock", nil, []string{"--stock", "0"}, `--stock "0": want a whole number from 1 to 10000 (see redlock-demo --help)`},
		{"much stock", nil, []string{"--stock=10001"}, `--stock "10001": want a whole number from 1 to 10000 (see redlock-demo --help)`},
		{"negative seed", nil, []string{"--seed", "-1"}, `--seed "-1": want a whole number from 0 to 18446744073709551615 (see redlock-demo --help)`},
		{"TTL in words", nil, []string{"--ttl", "long"}, `--ttl "long": want a duration such as 500ms or 2s (see redlock-demo --help)`},
		{"short TTL", nil, []string{"--ttl", "2ms"}, "a TTL of 2ms: want 20ms to 1m0s"},
		{"long TTL", nil, []string{"--ttl", "2m"}, "a TTL of 2m0s: want 20ms to 1m0s"},
		{"odd TTL", nil, []string{"--ttl", "20.5ms"}, "a TTL of 20.5ms: want whole milliseconds, as Redis counts them"},
		{"odd bool", nil, []string{"--json=maybe"}, `--json "maybe": want true or false, not "maybe" (see redlock-demo --help)`},
		{"no value", nil, []string{"--masters"}, "flag needs an argument: --masters (see redlock-demo --help)"},
		{"no masters", nil, []string{"--masters", ""}, "--masters names no masters: want url,url,…"},
		{"only commas", nil, []string{"--masters", " , "}, "--masters names no masters: want url,url,…"},
		{"no masters in the environment", []string{"REDLOCK_MASTERS=,"}, nil, "REDLOCK_MASTERS names no masters: want url,url,…"},
		{"an empty entry", nil, []string{"--masters", "redis://a,,redis://b"}, "--masters: entry 2 of 3 is empty: want url,url,…"},
		{"wrong scheme", nil, []string{"--masters", "http://u:secret@h"}, `master URL 1: scheme "http": want redis://, rediss:// or unix://`},
		{"malformed URL", []string{"REDLOCK_MASTERS=redis://u:sec%ret@h"}, nil, "master URL 1: not a valid URL"},
		{"bad port", nil, []string{"--masters", "redis://h:70000"}, `master URL 1: port "70000": want 1 to 65535`},
		{"twice the same", nil, []string{"--masters", "redis://:secret@h,redis://g,redis://H:6379/1"}, "master URL 3: h:6379 is already master 1: every master must be given once"},
		{"masters and spawn", nil, []string{"--masters", three, "--spawn", "redis-server"}, "--spawn and --masters exclude each other: --spawn starts masters, --masters names existing ones"},
		{"move and masters", nil, []string{"--move", "--masters", three}, "--move and --masters exclude each other: --move starts its own masters, and kills some"},
		{"move and stock", nil, []string{"demo", "--move", "--stock", "5"}, "--move and --stock exclude each other: with --move the sale lasts as long as the move"},
		{"spawn nothing", nil, []string{"--spawn", ""}, "--spawn names no binary: want a path or a name such as redis-server"},
		{"spawn what is not there", []string{"REDLOCK_MASTERS=" + three}, []string{"--spawn", "no-such-redis"}, `--spawn: exec: "no-such-redis": executable file not found in `},
		{"spawn something else", nil, []string{"--spawn", notRedis}, "--spawn: " + notRedis + " is no redis-server: " + notRedis + " --version: no version (v=…)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.name == "spawn something else" && runtime.GOOS == "windows" {
				t.Skip("the program that is no redis-server is a shell script")
			}
			stdout, stderr, code := output(t, test.env, test.args...)
			if code != exitUsage {
				t.Errorf("exit code %d, want %d", code, exitUsage)
			}
			if stdout != "" {
				t.Errorf("standard output %q", stdout)
			}
			if want := "redlock-demo: " + test.want; !strings.HasPrefix(stderr, want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("standard error\n%q, want\n%q", stderr, want)
			}
			if strings.Contains(stderr, "secret") || strings.Contains(stderr, "sec%ret") {
				t.Errorf("a password is printed: %q", stderr)
			}
		})
	}
}

func TestWhereNoMasterAnswersTheListCountsAsWrong(t *testing.T) {
	t.Parallel()
	const urls = "redis://user:secret@127.0.0.1:1,redis://:secret@127.0.0.1:2,unix:///no/such/socket"
	stdout, stderr, code := output(t, nil, "--masters", urls)
	want := "redlock-demo: no quorum within 5s: 0 of 3 masters answered, 2 needed (" +
		"127.0.0.1:1: connection refused; 127.0.0.1:2: connection refused; /no/such/socket: connect: no such file or directory)\n"
	if code != exitUsage || stdout != "" {
		t.Errorf("exit code %d, standard output %q", code, stdout)
	}
	if runtime.GOOS != "windows" && stderr != want {
		t.Errorf("standard error\n%q, want\n%q", stderr, want)
	}
	if strings.Contains(stderr, "secret") {
		t.Errorf("a password is printed: %q", stderr)
	}
}

func TestHelpAndVersionAreAnswered(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"help", "demo"}, {"demo", "--help"}} {
		stdout, stderr, code := output(t, nil, args...)
		if code != 0 || stderr != "" || !strings.Contains(stdout, "--spawn binary") || !strings.Contains(stdout, "$REDLOCK_MASTERS") {
			t.Errorf("%q: exit code %d, %q\n%s", args, code, stderr, stdout)
		}
	}
	for _, args := range [][]string{{"--help"}, {"completion", "bash"}, {"completion", "zsh"}, {"completion", "fish"}, {"completion", "powershell"}} {
		if stdout, stderr, code := output(t, nil, args...); code != 0 || stderr != "" || !strings.Contains(stdout, "redlock-demo") {
			t.Errorf("%q: exit code %d, %q\n%s", args, code, stderr, stdout)
		}
	}
	if stdout, _, code := output(t, nil, "__complete", "exec", "--conf"); code != 0 || !strings.Contains(stdout, "--conflict-exit-code") {
		t.Errorf("exit code %d, %q", code, stdout)
	}
	for args, want := range map[string]string{
		"chaos --guard ": "off\nstandard\nstrict\n:4\n", "init --guard ": "standard\nstrict\n:4\n", "bench --fence ": "yes\nno\nboth\n:4\n",
		"bench --goro": "--goroutines\tnumber of goroutines that lock and unlock at the same time\n:4\n",
	} {
		if stdout, _, code := output(t, nil, append([]string{"__complete"}, strings.Split(args, " ")...)...); code != 0 || stdout != want {
			t.Errorf("completion of %q: exit code %d, %q, want %q", args, code, stdout, want)
		}
	}
	if stdout, _, code := output(t, nil, "--version"); code != 0 || !strings.HasPrefix(stdout, "redlock-demo ") {
		t.Errorf("exit code %d, %q", code, stdout)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{&failedError{1, 10}, 1},
		{usagef("bad"), 64},
		{&demo.InputError{Err: errors.New("bad")}, 64},
		{&demo.NoQuorumError{}, 64},
		{&demo.NoQuorumError{Masters: []demo.Master{{State: "gone"}, {State: "up"}, {State: "gone"}}}, 69},
		{errors.New("odd"), 70},
		{&startError{errors.New("no port")}, 71},
		{&outputError{syscall.EPIPE}, 74},
		{&signalError{syscall.SIGINT}, 130},
		{fmt.Errorf("wrapped: %w", &signalError{syscall.SIGTERM}), 143},
	} {
		if got := exitCode(test.err); got != test.want {
			t.Errorf("%v: %d, want %d", test.err, got, test.want)
		}
	}
}
