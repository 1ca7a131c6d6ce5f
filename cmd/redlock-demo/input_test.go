package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/rig"
)

// A mistake is arguments that are refused, and in which sentence. Of what the system says
// the sentence has only the beginning: it ends with ": ".
type mistake struct {
	args []string
	want string
}

// refuses checks that a command refuses mistakes, with this exit code and without repeating
// a password.
func refuses(t *testing.T, env []string, code int, name string, mistakes ...mistake) {
	t.Helper()
	for _, m := range mistakes {
		args := append(strings.Fields(name), m.args...)
		stdout, stderr, got := output(t, env, args...)
		want, is := "redlock-demo: "+m.want, stderr
		if strings.HasSuffix(want, ": ") && strings.Count(is, "\n") == 1 {
			is = is[:min(len(is), len(want))]
		} else {
			want += "\n"
		}
		if got != code || stdout != "" || is != want || strings.Contains(stderr, "secret") || strings.Contains(stderr, "s3cret") || strings.Contains(stderr, "sec%ret") {
			t.Errorf("%q: exit code %d, want %d; %q, %q, want %q", args, got, code, stdout, stderr, want)
		}
	}
}

const three = "redis://127.0.0.1:1,redis://127.0.0.1:2,redis://127.0.0.1:3"

func TestBadInputOfDemoGetsOneSentence(t *testing.T) {
	t.Parallel()
	const help, helpOfDemo = " (see redlock-demo --help)", " (see redlock-demo demo --help)"
	refuses(t, nil, app.ExitUsage, "", []mistake{
		{[]string{"--nosuch"}, "unknown flag: --nosuch" + help},
		{[]string{"demo", "-x"}, "unknown shorthand flag: 'x' in -x" + helpOfDemo},
		{[]string{"nosuch"}, `unknown command "nosuch"` + help},
		{[]string{"dmeo"}, `unknown command "dmeo": did you mean demo?` + help},
		{[]string{"demo", "extra"}, `unexpected argument "extra"` + helpOfDemo},
		{[]string{"redis://u:secret@h"}, "unexpected argument that looks like a URL: name the masters by --masters url,url,…"},
		{[]string{"demo", "redis://u:secret@h"}, "unexpected argument that looks like a URL: name the masters by --masters url,url,…"},
		{[]string{"--ttl", "long"}, `--ttl "long": want a duration from 20ms to 1m0s, such as 500ms or 2s` + help},
		{[]string{"--ttl", "2ms"}, `--ttl "2ms": want a duration from 20ms to 1m0s, such as 500ms or 2s` + help},
		{[]string{"--ttl", "2m"}, `--ttl "2m": want a duration from 20ms to 1m0s, such as 500ms or 2s` + help},
		{[]string{"--ttl", "20.5ms"}, "--ttl 20.5ms: want whole milliseconds, as Redis counts them"},
		{[]string{"--json=maybe"}, `--json "maybe": want true or false, not "maybe"` + help},
		{[]string{"--masters"}, "flag needs an argument: --masters" + help},
		{[]string{"--masters", ""}, "--masters names no masters: want url,url,…"},
		{[]string{"--masters", " , "}, "--masters names no masters: want url,url,…"},
		{[]string{"--masters", "redis://a,,redis://b"}, "--masters: entry 2 of 3 is empty: want url,url,…"},
		{[]string{"--masters", "http://u:secret@h"}, `master URL 1: scheme "http": want redis://, rediss:// or unix://`},
		{[]string{"--masters", "redis://h:70000"}, `master URL 1: port "70000": want 1 to 65535`},
		{[]string{"--masters", "redis://:secret@h,redis://g,redis://H:6379/1"}, "master URL 3: h:6379 is already master 1: every master must be given once"},
		{[]string{"--masters", three, "--spawn", "redis-server"}, "--spawn and --masters exclude each other: --spawn starts masters, --masters names existing ones"},
		{[]string{"--spawn", ""}, "--spawn names no binary: want a path or a name such as redis-server"},
	}...)
	refuses(t, []string{"REDLOCK_MASTERS=,"}, app.ExitUsage, "", mistake{nil, "REDLOCK_MASTERS names no masters: want url,url,…"})
	refuses(t, []string{"REDLOCK_MASTERS=redis://u:sec%ret@h"}, app.ExitUsage, "", mistake{nil, "master URL 1: not a valid URL (characters such as @ : / ? # % in a user, password or path have to be percent-encoded)"})
	refuses(t, []string{"REDLOCK_MASTERS=" + three}, app.ExitUsage, "", mistake{[]string{"--spawn", "no-such-redis"}, `--spawn: exec: "no-such-redis": `})
	if runtime.GOOS != "windows" { // there it is no shell script
		other := filepath.Join(t.TempDir(), "not-redis")
		if err := os.WriteFile(other, []byte("#!/bin/sh\necho some other program, v1\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		refuses(t, nil, app.ExitUsage, "demo", mistake{[]string{"--spawn", other}, "--spawn: " + other + " is no redis-server: " + other + " --version: no version (v=…)"})
	}
}

func TestBadInputOfExecGetsOneSentence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none := filepath.Join(dir, "none")
	empty, lines, plain, long := rig.File(t, "\n"), rig.File(t, "s3cret\nother\n"), rig.File(t, "s3cret"), rig.File(t, strings.Repeat("s3cret", 1000))
	const help = " (see redlock-demo exec --help)"
	const usage = ": want redlock-demo exec KEY -- COMMAND" + help
	on := func(args ...string) []string { // with masters, a key and a command
		return append(append([]string{"--masters", three}, args...), "k", "--", "sh")
	}
	runs := func(command string) []string { return []string{"--masters", three, "k", "--", command} }
	refuses(t, nil, app.ExitUsage, "exec", []mistake{
		{nil, "a key and a command are missing" + usage},
		{[]string{"k"}, "no -- between the key and the command" + usage},
		{[]string{"k", "sh"}, "no -- between the key and the command" + usage},
		{[]string{"k", "ls", "-l"}, "unknown shorthand flag: 'l' in -l" + help + "; the command goes behind --"},
		{[]string{"k", "--"}, "no command after --" + usage},
		{[]string{"--", "sh"}, "no key before --" + usage},
		{[]string{"k", "l", "--", "sh"}, "2 arguments before --, one of which is the key" + usage},
		{[]string{"k", "--", ""}, "the command's name is empty" + usage},
		{append([]string{"--masters", three}, "", "--", "sh"), "the key is empty"},
		{append([]string{"--masters", three}, strings.Repeat("k", 1025), "--", "sh"), "the key has 1025 bytes: want 1 to 1024"},
		{append([]string{"--masters", three}, "redquorum:k", "--", "sh"), `key "redquorum:k": the prefix "redquorum:" is reserved`},
		{[]string{"--masters", "http://u:s3cret@h", "k", "--", "sh"}, `master URL 1: scheme "http": want redis://, rediss:// or unix://`},
		{on("--ttl", "2ms"), `--ttl "2ms": want a duration from 20ms to 1m0s, such as 500ms or 2s` + help},
		{on("--ttl", "20.5ms"), "--ttl 20.5ms: want whole milliseconds, as Redis counts them"},
		{on("--wait", "99ms"), `--wait "99ms": want 0 or a duration from 100ms to 720h0m0s, such as 500ms or 2s` + help},
		{on("--wait", "1s", "--try"), "--try and --wait exclude each other: --try does not wait, --wait says for how long to wait"},
		{on("--grace", "61m"), `--grace "61m": want a duration from 0s to 1h0m0s, such as 500ms or 2s` + help},
		{on("--owner", "a b"), `--owner "a b": want 1 to 64 bytes of printable ASCII without spaces and colons`},
		{on("-E", "256"), `--conflict-exit-code "256": want a whole number from 0 to 255` + help},
		{on("--user", "locker"), "--user needs --password-file"},
		{on("--password-file", empty), "--password-file: " + empty + " is empty: want one line, the password"},
		{on("--password-file", lines), "--password-file: " + lines + " has more than one line of at most 4096 bytes: want one line, the password"},
		{on("--password-file", long), "--password-file: " + long + " has more than one line of at most 4096 bytes: want one line, the password"},
		{on("--password-file", none), "--password-file: open " + none + ": "},
		{on("--tls-ca", none), "--tls-ca: open " + none + ": "},
		{on("--tls-ca", plain), "--tls-ca: " + plain + " holds no certificate: want PEM"},
		{on("--tls-cert", plain), "--tls-cert and --tls-key need each other"},
		{on("--tls-key", plain), "--tls-cert and --tls-key need each other"},
		{on("--tls-cert", plain, "--tls-key", plain), "--tls-cert, --tls-key: tls: failed to find any PEM data in certificate input"},
		{on("--json=maybe"), `--json "maybe": want true or false, not "maybe"` + help},
	}...)
	if runtime.GOOS == "windows" {
		return // it has other words for what follows
	}
	refuses(t, nil, app.ExitNotFound, "exec", mistake{runs("no-such-command"), `command "no-such-command": not found`})
	refuses(t, nil, app.ExitNotFound, "exec", mistake{runs(none), `command "` + none + `": not found`})
	refuses(t, nil, app.ExitCannotRun, "exec", mistake{runs(dir), `command "` + dir + `": cannot be run: `})
	refuses(t, nil, app.ExitCannotRun, "exec", mistake{runs(plain), `command "` + plain + `": cannot be run: permission denied`})
}

func TestExecRefusesAMoveThatIsNone(t *testing.T) {
	t.Parallel()
	command := func(args ...string) []string { return append(args, "k", "--", "sh") }
	refuses(t, nil, app.ExitUsage, "exec", []mistake{
		{command("--masters", euMasters, "--move-to", euMasters), "--masters and --move-to name the same masters: nothing would be moved"},
		{command("--masters", "a="+euMasters, "--masters", "b="+usMasters, "--move-to", "b="+usMasters, "--move-to", "a=redis://10.0.0.3,redis://10.0.0.2,redis://10.0.0.1"), "--masters and --move-to name the same masters: nothing would be moved"},
		{command("--masters", euMasters, "--move-to", "redis://10.0.2.1,redis://10.0.0.3"), "--masters and --move-to share 10.0.0.3:6379, database 0: want other servers, or another database of them, unless a fleet stays as it is"},
		{command("--masters", euMasters, "--move-to", "redis://10.0.0.1,redis://10.0.0.3"), "--masters and --move-to share 10.0.0.1:6379, database 0: want other servers, or another database of them, unless a fleet stays as it is"},
		{command("--masters", euMasters, "--move-to", ""), "--move-to names no masters: want url,url,…"},
		{command("--masters", euMasters, "--move-to", "redis://d", "--move-to", "us="+usMasters), "--move-to: fleet 1 of 2 (redis://d) has no name: want NAME=url,url,… for each of several, by the names that all their clients have: keys are spread by the names"},
		{command("--masters", euMasters, "--moved-to", "a b"), `--moved-to: the name is "a b": want one without spaces and control characters`},
	}...)
}

func TestBadInputOfOtherCommandsGetsOneSentence(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"exec k -- sh", "status", "status k", "doctor", "init", "locks", "release --yes k", "wait k", "fleet close --to x"} {
		refuses(t, nil, app.ExitUsage, line, mistake{nil, "no masters are named: want --masters url,url,…, REDLOCK_MASTERS or --config file"})
	}
	for _, name := range []string{"doctor", "chaos", "init", "fleet close"} {
		refuses(t, nil, app.ExitUsage, name, mistake{[]string{"k"}, `unexpected argument "k" (see redlock-demo ` + strings.Fields(name)[0] + " --help)"})
	}
	bad, backward := rig.File(t, "2s kill 1\n3s shoot 2\n"), rig.File(t, "2s skew 1 60s\n")
	for name, mistakes := range map[string][]mistake{
		"status": {
			{[]string{"--watch=1ms", "k"}, `--watch "1ms": want a duration from 100ms to 1h0m0s, such as 500ms or 2s (see redlock-demo status --help)`},
			{[]string{"--watch", "1s", "k"}, `key "1s" is a duration: want --watch=1s [KEY]..., or -- before a key of that name`},
			{[]string{"--masters", "redis://127.0.0.1:1", "--watch", "--", "1s", ""}, "inspect: the key is empty"},
			{[]string{"--masters", "redis://127.0.0.1:1", ""}, "inspect: the key is empty"},
			{[]string{"--quiet", "--watch", "k"}, "--quiet and --watch exclude each other: nothing would be shown again and again"},
		},
		"doctor": {
			{[]string{"--for", "1ms"}, `--for "1ms": want a duration from 100ms to 1h0m0s, such as 500ms or 2s (see redlock-demo doctor --help)`},
			{[]string{"--key", ""}, "--key is empty: want the name of a lock"},
			{[]string{"--masters", "redis://:secret@h:0"}, `master URL 1: port "0": want 1 to 65535`},
			{[]string{"--masters", "redis://h,redis://H"}, "master URL 2: h:6379 is already master 1: every master must be given once"},
			{[]string{"--masters", "redis://h", "--password-file", "/no/such/file"}, "--password-file: open /no/such/file: no such file or directory"},
			{[]string{"--masters", "rediss://h", "--tls-ca", "/no/such/file"}, "--tls-ca: open /no/such/file: no such file or directory"},
		},
		"chaos": {
			{[]string{"--masters", "redis://:secret@h", "--tour"}, "--masters and --tour exclude each other: chaos breaks masters of its own only"},
			{[]string{"--masters", "redis://:secret@h", "--script", bad}, "--masters and --script exclude each other: chaos breaks masters of its own only"},
			{[]string{"--masters", "redis://:secret@h", "--spawn", "redis-server"}, "--masters and --spawn exclude each other: chaos breaks masters of its own only"},
			{[]string{"--masters", ","}, "--masters names no masters: want url,url,…"},
			{[]string{"--masters", "redis://:secret@h", "--user", "u"}, "--user needs --password-file"},
			{[]string{"--masters", "http://:secret@h"}, `master URL 1: scheme "http": want redis://, rediss:// or unix://`},
			{[]string{"--tour", "--script", bad}, "--tour and --script exclude each other: --tour runs a built-in script"},
			{[]string{"--script", "/no/such/file"}, "--script: open /no/such/file: no such file or directory"},
			{[]string{"--script", bad}, "--script " + bad + `: line 2: "shoot": want kill, restart, empty, freeze, thaw, cut, heal, skew or end`},
			{[]string{"--script", backward, "--spawn", "redis-server"}, "--script " + backward + ": fault 1: the clocks of processes are the machine's, only those of embedded masters can be set: want no skew with --spawn"},
			{[]string{"--for", "0s"}, `--for "0s": want a duration from 1s to 24h0m0s, such as 500ms or 2s (see redlock-demo chaos --help)`},
			{[]string{"--ttl", "2m"}, `--ttl "2m": want a duration from 200ms to 1m0s, such as 500ms or 2s (see redlock-demo chaos --help)`},
			{[]string{"--ttl", "1000.5ms"}, "--ttl 1.0005s: want whole milliseconds, as Redis counts them"},
			{[]string{"--guard", "much"}, `--guard "much": want off, standard or strict (see redlock-demo chaos --help)`},
			{[]string{"--spawn", ""}, "--spawn names no binary: want a path or a name such as redis-server"},
		},
		"init": {
			{[]string{"--guard", "off"}, `--guard "off": want standard or strict (see redlock-demo init --help)`},
			{[]string{"--max-ttl", "1ms"}, `--max-ttl "1ms": want 0 or a duration from 20ms to 24h0m0s, such as 500ms or 2s (see redlock-demo init --help)`},
			{[]string{"--masters", "redis://h", "--guard", "strict", "--max-ttl", "100ms"}, "--max-ttl 100ms: want 1s to 24h0m0s with --guard strict"},
			{[]string{"--masters", "http://:secret@h"}, `master URL 1: scheme "http": want redis://, rediss:// or unix://`},
			{[]string{"--masters", "redis://a,redis://b,redis://c", "--without", "d:6379", "--yes"}, `--without "d:6379": want one of the masters a:6379, b:6379, c:6379`},
			{[]string{"--masters", "redis://a,redis://b,redis://c", "--without", "", "--yes"}, `--without "": want one of the masters a:6379, b:6379, c:6379`},
			{[]string{"--masters", "redis://a,redis://b,redis://c", "--without", "a:6379", "--without", "b:6379", "--yes"}, "--without names 2 of 3 masters: want 1 at the most, so that a quorum is left"},
			{[]string{"--masters", "redis://a,redis://b,redis://c", "--without", "a:6379"}, "--without asks for confirmation: want --yes where there is no terminal"},
			{[]string{"--masters", "redis://h", "--user", "u"}, "--user needs --password-file"},
		},
		"locks": {
			{[]string{"a", "b"}, "2 patterns: want one at the most, in quotes (see redlock-demo locks --help)"},
			{[]string{"--watch", "1s"}, `key "1s" is a duration: want --watch=1s [PATTERN], or -- before a key of that name`},
		},
		"release": {
			{nil, "0 keys are named: want redlock-demo release KEY (see redlock-demo release --help)"},
			{[]string{"a", "b"}, "2 keys are named: want redlock-demo release KEY (see redlock-demo release --help)"},
			{[]string{"--masters", "redis://127.0.0.1:1", "k"}, "release asks for confirmation: want --yes where there is no terminal"},
			{[]string{"--yes", "--masters", "redis://127.0.0.1:1", "redquorum:marker"}, `inspect: key "redquorum:marker": the prefix "redquorum:" is reserved`},
		},
		"wait": {
			{nil, "0 keys are named: want redlock-demo wait KEY (see redlock-demo wait --help)"},
			{[]string{"--try", "--wait", "1s", "k"}, "--try and --wait exclude each other: --try does not wait, --wait says for how long to wait"},
			{[]string{"--wait", "1ms", "k"}, `--wait "1ms": want 0 or a duration from 100ms to 720h0m0s, such as 500ms or 2s (see redlock-demo wait --help)`},
		},
		"fleet": {
			{nil, "the subcommand is missing: want redlock-demo fleet close --to name|url,url,... [flags]"},
			{[]string{"open"}, "the subcommand is missing: want redlock-demo fleet close --to name|url,url,... [flags]"},
			{[]string{"close"}, "--to is missing: want the new fleet's masters, or the name that clients give to WithMovedTo"},
			{[]string{"close", "--masters", three, "--to", "a b"}, `close fleet: the name is "a b": want one without spaces and control characters`},
			{[]string{"close", "--masters", three, "--to", "redis://b:1,"}, "--to: entry 2 of 2 is empty: want url,url,…"},
			{[]string{"close", "--masters", three, "--to", "http://b:1"}, `--to: master URL 1: scheme "http": want redis://, rediss:// or unix://`},
			{[]string{"close", "--masters", three, "--to", "x", "--guard", "off"}, "close fleet: WithGuard(GuardOff) keeps no markers: want GuardStandard or GuardStrict"},
		},
	} {
		refuses(t, nil, app.ExitUsage, name, mistakes...)
	}
}

func TestWhereNoMasterAnswersTheListCountsAsWrong(t *testing.T) {
	t.Parallel()
	const urls = "redis://user:secret@127.0.0.1:1,redis://:secret@127.0.0.1:2,unix:///no/such/socket"
	stdout, stderr, code := output(t, nil, "--masters", urls)
	want := "redlock-demo: no quorum within 5s: 0 of 3 masters answered, 2 needed (" +
		"127.0.0.1:1: down: connection refused; 127.0.0.1:2: down: connection refused; /no/such/socket: down: no such file or directory)\n"
	if code != app.ExitUsage || stdout != "" {
		t.Errorf("exit code %d, standard output %q", code, stdout)
	}
	if runtime.GOOS != "windows" && stderr != want {
		t.Errorf("standard error\n%q, want\n%q", stderr, want)
	}
	if strings.Contains(stderr, "secret") {
		t.Errorf("a password is printed: %q", stderr)
	}
}

func TestCompletionAndVersionAreAnswered(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if stdout, stderr, code := output(t, nil, "completion", shell); code != 0 || stderr != "" || !strings.Contains(stdout, "redlock-demo") {
			t.Errorf("%s: exit code %d, %q\n%s", shell, code, stderr, stdout)
		}
	}
	for args, want := range map[string]string{
		"chaos --guard ": "off\nstandard\nstrict\n:4\n", "init --guard ": "standard\nstrict\n:4\n",
		"exec --conflict": "--conflict-exit-code\texit code when somebody else holds the lock\n:4\n",
	} {
		if stdout, _, code := output(t, nil, append([]string{"__complete"}, strings.Split(args, " ")...)...); code != 0 || stdout != want {
			t.Errorf("completion of %q: exit code %d, %q, want %q", args, code, stdout, want)
		}
	}
	if stdout, _, code := output(t, nil, "--version"); code != 0 || !strings.HasPrefix(stdout, "redlock-demo ") {
		t.Errorf("exit code %d, %q", code, stdout)
	}
}
