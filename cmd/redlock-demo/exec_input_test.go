package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestBadInputOfExecGetsOneSentence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	empty, lines, plain := file("empty", "\n"), file("lines", "s3cret\nother\n"), file("plain", "s3cret")
	long := file("long", strings.Repeat("s3cret", 1000))
	const three = "redis://127.0.0.1:1,redis://127.0.0.1:2,redis://127.0.0.1:3"
	const hint = " (see redlock-demo exec --help)"
	const usage = ": want redlock-demo exec KEY -- COMMAND" + hint
	on := func(args ...string) []string { // with masters, a key and a command
		return append(append([]string{"--masters", three}, args...), "k", "--", "sh")
	}
	for _, test := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"nothing", nil, 64, "a key and a command are missing" + usage},
		{"no command", []string{"k"}, 64, "no -- between the key and the command" + usage},
		{"no dashes", []string{"k", "sh"}, 64, "no -- between the key and the command" + usage},
		{"no dashes but flags", []string{"k", "ls", "-l"}, 64, "unknown shorthand flag: 'l' in -l" + hint + "; the command goes behind --"},
		{"nothing after dashes", []string{"k", "--"}, 64, "no command after --" + usage},
		{"no key", []string{"--", "sh"}, 64, "no key before --" + usage},
		{"two keys", []string{"k", "l", "--", "sh"}, 64, "2 arguments before --, one of which is the key" + usage},
		{"empty command", []string{"k", "--", ""}, 64, "the command's name is empty" + usage},
		{"empty key", append([]string{"--masters", three}, "", "--", "sh"), 64, "the key is empty"},
		{"long key", append([]string{"--masters", three}, strings.Repeat("k", 1025), "--", "sh"), 64, "the key has 1025 bytes: want 1 to 1024"},
		{"reserved key", append([]string{"--masters", three}, "redquorum:k", "--", "sh"), 64, `key "redquorum:k": the prefix "redquorum:" is reserved`},
		{"no masters", []string{"k", "--", "sh"}, 64, "no masters are named: want --masters url,url,…, REDLOCK_MASTERS or --config file"},
		{"bad masters", []string{"--masters", "http://u:s3cret@h", "k", "--", "sh"}, 64, `master URL 1: scheme "http": want redis://, rediss:// or unix://`},
		{"TTL in words", on("--ttl", "long"), 64, `--ttl "long": want a duration from 20ms to 1m0s, such as 500ms or 2s` + hint},
		{"short TTL", on("--ttl", "2ms"), 64, `--ttl "2ms": want a duration from 20ms to 1m0s, such as 500ms or 2s` + hint},
		{"long TTL", on("--ttl", "2m"), 64, `--ttl "2m": want a duration from 20ms to 1m0s, such as 500ms or 2s` + hint},
		{"odd TTL", on("--ttl", "20.5ms"), 64, "--ttl 20.5ms: want whole milliseconds, as Redis counts them"},
		{"negative wait", on("--wait=-1s"), 64, `--wait "-1s": want 0 or a duration from 100ms to 720h0m0s, such as 500ms or 2s` + hint},
		{"short wait", on("--wait", "99ms"), 64, `--wait "99ms": want 0 or a duration from 100ms to 720h0m0s, such as 500ms or 2s` + hint},
		{"wait in words", on("--wait", "long"), 64, `--wait "long": want 0 or a duration from 100ms to 720h0m0s, such as 500ms or 2s` + hint},
		{"wait and try", on("--wait", "1s", "--try"), 64, "--try and --wait exclude each other: --try does not wait, --wait says for how long to wait"},
		{"negative grace", on("--grace=-1s"), 64, `--grace "-1s": want a duration from 0s to 1h0m0s, such as 500ms or 2s` + hint},
		{"long grace", on("--grace", "61m"), 64, `--grace "61m": want a duration from 0s to 1h0m0s, such as 500ms or 2s` + hint},
		{"odd owner", on("--owner", "a b"), 64, `--owner "a b": want 1 to 64 bytes of printable ASCII without spaces and colons`},
		{"empty owner", on("--owner", ""), 64, `--owner "": want 1 to 64 bytes of printable ASCII without spaces and colons`},
		{"exit code", on("-E", "256"), 64, `--conflict-exit-code "256": want a whole number from 0 to 255` + hint},
		{"exit code in words", on("--conflict-exit-code", "busy"), 64, `--conflict-exit-code "busy": want a whole number from 0 to 255` + hint},
		{"user alone", on("--user", "locker"), 64, "--user needs --password-file"},
		{"no password", on("--password-file", empty), 64, "--password-file: " + empty + " is empty: want one line, the password"},
		{"two passwords", on("--password-file", lines), 64, "--password-file: " + lines + " has more than one line of at most 4096 bytes: want one line, the password"},
		{"long password", on("--password-file", long), 64, "--password-file: " + long + " has more than one line of at most 4096 bytes: want one line, the password"},
		{"no password file", on("--password-file", filepath.Join(dir, "none")), 64, "--password-file: open " + filepath.Join(dir, "none") + ": "},
		{"no CA file", on("--tls-ca", filepath.Join(dir, "none")), 64, "--tls-ca: open " + filepath.Join(dir, "none") + ": "},
		{"odd CA file", on("--tls-ca", plain), 64, "--tls-ca: " + plain + " holds no certificate: want PEM"},
		{"certificate alone", on("--tls-cert", plain), 64, "--tls-cert and --tls-key need each other"},
		{"key alone", on("--tls-key", plain), 64, "--tls-cert and --tls-key need each other"},
		{"odd certificate", on("--tls-cert", plain, "--tls-key", plain), 64, "--tls-cert, --tls-key: tls: failed to find any PEM data in certificate input"},
		{"metrics nowhere", on("--metrics", "9121"), 64, `--metrics "9121": want host:port or :port, with a port from 0 to 65535`},
		{"metrics at no port", on("--metrics", ""), 64, `--metrics "": want host:port or :port, with a port from 0 to 65535`},
		{"metrics elsewhere", on("--metrics", "192.0.2.1:9121"), 71, "--metrics: listen tcp 192.0.2.1:9121: "},
		{"odd bool", on("--json=maybe"), 64, `--json "maybe": want true or false, not "maybe"` + hint},
		{"no such command", []string{"--masters", three, "k", "--", "no-such-command"}, 127, `command "no-such-command": not found`},
		{"no such path", []string{"--masters", three, "k", "--", filepath.Join(dir, "none")}, 127, `command "` + filepath.Join(dir, "none") + `": not found`},
		{"a directory", []string{"--masters", three, "k", "--", dir}, 126, `command "` + dir + `": cannot be run: `},
		{"not executable", []string{"--masters", three, "k", "--", plain}, 126, `command "` + plain + `": cannot be run: permission denied`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && (test.code != exitUsage || strings.Contains(test.name, "file")) {
				t.Skip("Windows has other words for it")
			}
			stdout, stderr, code := output(t, nil, append([]string{"exec"}, test.args...)...)
			if code != test.code || stdout != "" {
				t.Errorf("exit code %d, want %d; standard output %q", code, test.code, stdout)
			}
			if want := "redlock-demo: " + test.want; !strings.HasPrefix(stderr, want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("standard error\n%q, want\n%q", stderr, want)
			}
			if strings.Contains(stderr, "s3cret") {
				t.Errorf("a password is printed: %q", stderr)
			}
		})
	}
}
