//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	execcmd "github.com/redquorum/redquorum/cmd/internal/exec"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/internal/redistest"
)

// pids are the numbers that the command has printed.
func (r *running) pids(t *testing.T) []int {
	t.Helper()
	var pids []int
	for _, word := range strings.Fields(r.stdout.String()) {
		if n, err := strconv.Atoi(word); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}

const hourInMS = "3600000"

func ended(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// A process's environment does not change.
func TestHelpAndPageSayThatValidUntilIsAsOfTheStart(t *testing.T) {
	t.Parallel()
	help, stderr, code := output(t, nil, "exec", "--help")
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "exec.md"))
	if err != nil || code != 0 || stderr != "" {
		t.Fatal(err, code, stderr)
	}
	for name, text := range map[string]string{"the help": help, "docs/reference/exec.md": string(page)} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), "as of the start of the command") {
			t.Errorf("%s does not say it", name)
		}
	}
}

func TestExecHoldsTheLockWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	r := start(t, c, "--owner", "billing", "k", "--", "sh", "-c", `env; echo ready; read line; echo "read $line"; echo wrong >&2; exit 3`)
	r.stdout.await(t, "ready")
	variables := map[string]string{}
	for line := range strings.Lines(r.stdout.String()) {
		if name, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			variables[name] = v
		}
	}
	token := variables["REDLOCK_TOKEN"]
	if !strings.HasPrefix(token, "billing:") || variables["REDLOCK_KEY"] != "k" {
		t.Errorf("token %q, key %q", token, variables["REDLOCK_KEY"])
	}
	if until, err := time.Parse(time.RFC3339, variables["REDLOCK_VALID_UNTIL"]); err != nil || time.Until(until) > 10*time.Second {
		t.Errorf("valid until %q: %v", variables["REDLOCK_VALID_UNTIL"], err)
	}
	if _, ok := variables["REDLOCK_FENCE"]; ok {
		t.Error("a fence without fencing")
	}
	for _, s := range c.Masters {
		rig.Eventually(t, "every master has the token", func() bool { return value(t, s, "k") == token })
	}
	r.say(t, "a line")
	if code := r.end(t); code != 3 || r.stderr.String() != "wrong\n" || !strings.HasSuffix(r.stdout.String(), "read a line\n") {
		t.Errorf("exit code %d, %q\n%s", code, r.stderr.String(), r.stdout.String())
	}
	free(t, c, "k")
}

func TestExecRenewsWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	r := start(t, c, "--ttl", "1s", "--verbose", "k", "--", "sh", "-c", `echo $REDLOCK_TOKEN; read line`)
	r.stderr.await(t, `renewed "k", 4 so far`) // which is longer than the TTL
	token := strings.TrimSpace(r.stdout.String())
	rig.Eventually(t, "a quorum has the token", func() bool {
		return value(t, c.Masters[0], "k") == token && value(t, c.Masters[1], "k") == token
	})
	r.say(t, "")
	code := r.end(t)
	text := r.stderr.String()
	if code != 0 || !strings.HasPrefix(text, `redlock-demo: locked "k" after `) || !strings.Contains(text, `redlock-demo: unlocked "k", held for `) {
		t.Errorf("exit code %d\n%s", code, text)
	}
	free(t, c, "k")
}

func TestExecPassesOnHowTheCommandEnded(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	odd := filepath.Join(t.TempDir(), "odd")
	if err := os.WriteFile(odd, []byte("#!/no/such/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		argv []string
		code int
		says string
	}{
		{[]string{"true"}, 0, ""},
		{[]string{"sh", "-c", "exit 64"}, 64, ""},
		{[]string{"sh", "-c", "exit 255"}, 255, ""},
		{[]string{"sh", "-c", "kill -9 $$"}, 137, ""},
		{[]string{"sh", "-c", "kill -TERM $$"}, 143, ""},
		{[]string{"sh", "-c", "kill -PIPE $$"}, 141, ""},
		{[]string{"sh", "-c", `printf %s "$*"`, "--", "--try", "-E"}, 0, ""}, // its flags are its own
		{[]string{odd}, 126, `redlock-demo: command "` + odd + `": cannot be run: no such file or directory` + "\n"},
	} {
		stdout, stderr, code := output(t, nil, append([]string{"exec", "k", "--masters", addresses(c), "--"}, test.argv...)...)
		if code != test.code || stderr != test.says {
			t.Errorf("%q: exit code %d, want %d; %q, want %q", test.argv, code, test.code, stderr, test.says)
		}
		if len(test.argv) > 3 && stdout != "--try -E" {
			t.Errorf("%q: %q", test.argv, stdout)
		}
		free(t, c, "k")
	}
}

func TestExecAnswersABusyLock(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	do(t, c.Masters, "SET", "k", "billing"+rig.TokenOf, "PX", hourInMS)
	do(t, c.Masters, "SET", "plain", "of-some-other-client", "PX", hourInMS)
	do(t, c.Masters, "RPUSH", "list", "x")
	do(t, c.Masters, "SET", "for-ever", "x")
	do(t, c.Masters, "ZADD", "ranks", 1, "x")
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--try", "k"}, 75, `redlock-demo: lock "k" is taken: held by "billing"` + "\n"},
		{[]string{"--try", "plain"}, 75, `redlock-demo: lock "plain" is taken: held by somebody who gave no name` + "\n"},
		{[]string{"--try", "list"}, 75, `redlock-demo: lock "list" is taken: the masters have a list under this name; choose another name` + "\n"},
		{[]string{"--try", "for-ever"}, 75, `redlock-demo: lock "for-ever" is taken: it never expires: not a lock of ours?` + "\n"},
		{[]string{"--try", "ranks"}, 75, `redlock-demo: lock "ranks" is taken: the masters have a sorted set under this name; choose another name` + "\n"},
		{[]string{"--wait", "300ms", "--verbose", "for-ever"}, 75, `redlock-demo: waiting for lock "for-ever": it never expires: not a lock of ours?` + "\n" +
			`redlock-demo: lock "for-ever" is taken: it never expires: not a lock of ours?, waited 300ms` + "\n"},
		{[]string{"--wait", "300ms", "k"}, 75, `redlock-demo: lock "k" is taken: held by "billing", waited 300ms` + "\n"},
		{[]string{"--try", "-E", "3", "k"}, 3, `redlock-demo: lock "k" is taken: held by "billing"` + "\n"},
		{[]string{"--try", "--conflict-exit-code=0", "k"}, 0, ""},
		{[]string{"--try", "-E", "0", "--verbose", "k"}, 0, `redlock-demo: lock "k" is taken: held by "billing"` + "\n"},
	} {
		args := append(append([]string{"exec", "--masters", addresses(c)}, test.args...), "--", "echo", "it ran")
		stdout, stderr, code := output(t, nil, args...)
		if code != test.code || stderr != test.says || stdout != "" {
			t.Errorf("%q: exit code %d, %q, %q", test.args, code, stderr, stdout)
		}
	}
}

func TestExecWaitsForTheHolder(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	first := start(t, c, "--owner", "first", "k", "--", "sh", "-c", "echo has it; read line; echo gives it")
	first.stdout.await(t, "has it")
	second := start(t, c, "--verbose", "k", "--", "echo", "has it")
	second.stderr.await(t, `redlock-demo: waiting for lock "k", held by "first"`+"\n")
	if second.stdout.String() != "" {
		t.Error("two have it")
	}
	first.say(t, "")
	if code := first.end(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if code := second.end(t); code != 0 || second.stdout.String() != "has it\n" {
		t.Errorf("exit code %d, %q\n%s", code, second.stdout.String(), second.stderr.String())
	}
}

func TestExecIsInterruptedWhileItWaits(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	do(t, c.Masters, "SET", "k", "of-some-other-client", "PX", hourInMS)
	for s, name := range map[syscall.Signal]string{
		syscall.SIGINT: "SIGINT", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP", syscall.SIGQUIT: "SIGQUIT",
	} {
		r := start(t, c, "--verbose", "k", "--", "echo", "it ran")
		r.stderr.await(t, "waiting")
		r.signal(t, s)
		if code := r.end(t); code != 128+int(s) || !strings.HasSuffix(r.stderr.String(), "redlock-demo: ended by "+name+"\n") || r.stdout.String() != "" {
			t.Errorf("%v: exit code %d, %q\n%s", s, code, r.stdout.String(), r.stderr.String())
		}
	}
	if n := holders(t, c, "k"); n != 3 {
		t.Errorf("%d of 3 masters have what another client has set", n)
	}
}

func TestExecNeedsAQuorum(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	kill(t, c.Masters[0], c.Masters[2])
	for _, how := range []string{"--try", "--wait=1h"} { // the outage is told after 3 s, not waited out
		stdout, stderr, code := output(t, nil, "exec", how, "k", "--masters", addresses(c), "--", "echo", "it ran")
		told, last := "", stderr
		if how != "--try" { // whoever waits is told of the outage before it is given up
			told, last, _ = strings.Cut(stderr, "\n")
		}
		if code != 69 || stdout != "" || strings.Count(last, "\n") != 1 || (told != "") != strings.HasPrefix(told, `redlock-demo: no quorum for lock "k", trying again: `) ||
			!strings.HasPrefix(last, `redlock-demo: lock "k": no quorum`) || !strings.Contains(stderr, ": 2 of 3 masters are down ("+c.Masters[0].Addr()+", "+c.Masters[2].Addr()+": connection refused)") {
			t.Errorf("%s: exit code %d, %q, %q", how, code, stdout, stderr)
		}
	}
	free := func() bool { return value(t, c.Masters[1], "k") == "" }
	rig.Eventually(t, "the attempt was rolled back", free)
}

func TestExecForwardsSignals(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	for s, name := range map[syscall.Signal]string{
		syscall.SIGINT: "INT", syscall.SIGTERM: "TERM", syscall.SIGHUP: "HUP", syscall.SIGQUIT: "QUIT",
		syscall.SIGUSR1: "USR1", syscall.SIGUSR2: "USR2",
	} {
		script := fmt.Sprintf(`trap 'echo caught %[1]s; exit 7' %[1]s; echo ready; while :; do sleep 0.01; done`, name)
		r := start(t, c, "k"+name, "--", "sh", "-c", script)
		r.stdout.await(t, "ready")
		r.signal(t, s)
		if code := r.end(t); code != 7 || r.stdout.String() != "ready\ncaught "+name+"\n" {
			t.Errorf("%s: exit code %d, %q, %q", name, code, r.stdout.String(), r.stderr.String())
		}
		free(t, c, "k"+name)
	}
}

func TestExecLeavesToTheCommandWhatASignalMeans(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	r := start(t, c, "k", "--", "sh", "-c", `trap 'echo caught' TERM; echo ready; while ! read line; do :; done; echo "$line"`)
	r.stdout.await(t, "ready")
	r.signal(t, syscall.SIGTERM)
	r.stdout.await(t, "caught")
	if holders(t, c, "k") != 1 {
		t.Error("the lock was given back before the command has ended")
	}
	r.say(t, "goes on")
	if code := r.end(t); code != 0 || !strings.HasSuffix(r.stdout.String(), "goes on\n") {
		t.Errorf("exit code %d, %q", code, r.stdout.String())
	}
}

func TestASignalReachesTheWholeGroup(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	r := start(t, c, "k", "--", "sh", "-c", `sleep 600 & echo $$ $!; echo ready; wait`)
	r.stdout.await(t, "ready")
	r.signal(t, syscall.SIGTERM)
	if code := r.end(t); code != 143 {
		t.Errorf("exit code %d", code)
	}
	for _, pid := range r.pids(t) {
		if !ended(pid) {
			t.Errorf("process %d goes on", pid)
		}
	}
}

func TestWhatIsIgnoredStaysIgnored(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	cmd := command(t, []string{"REDLOCK_MASTERS=" + addresses(c)})
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	// As nohup does it, and a shell with a command in the background.
	cmd.Path = sh
	cmd.Args = []string{"sh", "-c", `trap '' HUP INT; exec "$0" exec k -- sh -c 'echo ready; read line; echo done'`, binary}
	r := startCommand(t, cmd)
	r.stdout.await(t, "ready")
	r.signal(t, syscall.SIGHUP)
	r.signal(t, syscall.SIGINT)
	r.say(t, "")
	if code := r.end(t); code != 0 || r.stdout.String() != "ready\ndone\n" {
		t.Errorf("exit code %d, %q, %q", code, r.stdout.String(), r.stderr.String())
	}
}

func TestALossEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, grace, script string
		says                string
	}{
		{"by SIGTERM", "1h", `sleep 600 & echo $$ $!; echo ready; wait`, "The command was stopped (SIGTERM)"},
		{"in its own way", "1h", `trap 'echo cleaned up; exit 0' TERM; sleep 600 & echo $$ $!; echo ready; wait`,
			"The command was sent SIGTERM and ended with exit code 0"},
		{"by SIGKILL", "200ms", `trap '' TERM; sleep 600 & echo $$ $!; echo ready; wait`, "The command was stopped (SIGKILL, 200ms after SIGTERM)"},
		{"without grace", "0", `trap 'echo asked' TERM; sleep 600 & echo $$ $!; echo ready; wait`, "The command was stopped (SIGKILL)"},
		{"suspended", "1h", `sleep 600 & echo $$ $!; echo ready; kill -STOP $$`, "The command was stopped (SIGTERM)"},
		{"in the background", "1h", `sleep 600 & echo $$ $!; echo ready`, "The command was sent SIGTERM and ended with exit code 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := servers(t, 5)
			r := start(t, c, "--ttl", "1s", "--grace", test.grace, "k", "--", "sh", "-c", test.script)
			r.stdout.await(t, "ready")
			kill(t, c.Masters[0], c.Masters[1], c.Masters[2])
			code := r.end(t)
			text := r.stderr.String()
			if code != 74 || !strings.Contains(text, `redlock-demo: lock "k" LOST: `) || !strings.HasSuffix(text, "). The command is being stopped.\nredlock-demo: lock \"k\" LOST. "+test.says+". Another host may hold it now.\n") {
				t.Errorf("exit code %d, %q", code, text)
			}
			for _, s := range c.Masters[:3] {
				if !strings.Contains(text, s.Addr()) {
					t.Errorf("%s is not said to be away: %q", s.Addr(), text)
				}
			}
			if strings.Count(text, "\n") != 2 { // of a renewal in trouble a terminal is told
				t.Errorf("more than the loss is told: %q", text)
			}
			if strings.Contains(r.stdout.String(), "asked") {
				t.Error("it got SIGTERM")
			}
			pids := r.pids(t)
			if len(pids) != 2 {
				t.Fatalf("%q", r.stdout.String())
			}
			for _, pid := range pids {
				if !ended(pid) {
					t.Errorf("process %d goes on", pid)
				}
			}
		})
	}
}

func TestALossIsNoticedWhereAnotherTakesTheKey(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	r := start(t, c, "--ttl", "10s", "k", "--", "sh", "-c", `echo ready; exec sleep 600`)
	r.stdout.await(t, "ready")
	do(t, c.Masters, "SET", "k", "of-some-other-client", "PX", hourInMS)
	if code := r.end(t); code != 74 || !strings.HasSuffix(r.stderr.String(), `lock "k" LOST: held by somebody else. The command is being stopped.`+"\n"+`redlock-demo: lock "k" LOST. The command was stopped (SIGTERM). Another host may hold it now.`+"\n") {
		t.Errorf("exit code %d, %q", code, r.stderr.String())
	}
	if holders(t, c, "k") != 3 {
		t.Error("what another client has set was deleted")
	}
}

func TestTheLockIsKeptForWhatRunsInTheBackground(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, c, "--verbose", "k", "--", "sh", "-c", `(read line <"$0"; echo background done) & echo foreground done; exit 5`, fifo)
	r.stderr.await(t, "the command has ended, others of its process group have not: still locked")
	rig.Eventually(t, "a quorum has the key", func() bool { return holders(t, c, "k") >= 2 })
	if err := os.WriteFile(fifo, []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	if code := r.end(t); code != 5 || r.stdout.String() != "foreground done\nbackground done\n" {
		t.Errorf("exit code %d, %q", code, r.stdout.String())
	}
	free(t, c, "k")
}

func TestTheLockOfAKilledProcessExpires(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	r := start(t, c, "--ttl", "1s", "k", "--", "sh", "-c", `trap 'echo told; exit 0' TERM; echo ready; while :; do sleep 0.01; done`)
	r.stdout.await(t, "ready")
	if n := holders(t, c, "k"); n < 2 {
		t.Errorf("%d masters have the key", n)
	}
	r.signal(t, syscall.SIGKILL)
	_ = r.cmd.Wait()                                                                // it was killed
	if runtime.GOOS == "linux" && !strings.HasSuffix(r.stdout.String(), "told\n") { // Wait has waited for the command to close it
		t.Errorf("the command was not told: %q", r.stdout.String())
	}
	free(t, c, "k")
	if _, _, code := output(t, nil, "exec", "--try", "k", "--masters", addresses(c), "--", "true"); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestExecReportsInJSON(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	do(t, c.Masters, "SET", "taken", "x", "PX", hourInMS)
	for _, test := range []struct {
		key, script string
		code        int
		want        string // the report, without its numbers that vary
	}{
		{"k", "echo hello", 0, `{"key":"k","outcome":"ended","exit_code":0,"command":{"exit_code":0},"waited_ms":N,"held_ms":N,"attempts":1,"renewals":0}`},
		{"k", "kill -9 $$", 137, `{"key":"k","outcome":"ended","exit_code":137,"command":{"exit_code":137,"signal":9},"waited_ms":N,"held_ms":N,"attempts":1,"renewals":0}`},
		{"taken", "echo hello", 75, `{"key":"taken","outcome":"busy","exit_code":75,"error":"lock \"taken\" is taken: held by somebody who gave no name","command":null,"waited_ms":N,"held_ms":N,"attempts":1,"renewals":0}`},
	} {
		_, stderr, code := output(t, nil, "exec", "--json", "--verbose", "--try", test.key, "--masters", addresses(c), "--", "sh", "-c", test.script)
		got := regexp.MustCompile(`_ms":\d+`).ReplaceAllString(stderr, `_ms":N`)
		if code != test.code || got != test.want+"\n" {
			t.Errorf("exit code %d\n%s\n%s", code, got, test.want)
		}
	}
	kill(t, c.Masters[0], c.Masters[1])
	_, stderr, code := output(t, nil, "exec", "--json", "--try", "k", "--masters", addresses(c), "--", "true")
	if r := rig.Parse[execcmd.ExecReport](t, stderr); code != 69 || r.Outcome != app.OutcomeNoQuorum || r.ExitCode != 69 {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

func TestAClosedOutputIsTheCommandsOwnAffair(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	// yes is ended by SIGPIPE, as in any shell.
	cmd := command(t, nil, "exec", "k", "--masters", addresses(c), "--", "yes")
	cmd.Stdout = unread(t)
	if code := codeOf(t, cmd.Run()); code != 141 {
		t.Errorf("exit code %d", code)
	}
	// What exec itself cannot tell does not keep it from its work.
	cmd = command(t, nil, "exec", "k", "--verbose", "--masters", addresses(c), "--", "sh", "-c", "exit 3")
	cmd.Stderr = unread(t)
	if code := codeOf(t, cmd.Run()); code != 3 {
		t.Errorf("exit code %d", code)
	}
	free(t, c, "k")
}

func TestPasswordsAndCertificatesComeFromFiles(t *testing.T) {
	t.Parallel()
	authority, err := redistest.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	c := redistest.Start(t, 3, redistest.Config{
		TLS: authority, ACL: []string{"user default off", "user locker on >s3cret ~* +@all"}, Username: "locker", Password: "s3cret",
	})
	ca, good, bad := rig.File(t, string(authority.PEM())), rig.File(t, "s3cret\n"), rig.File(t, "wr0ng\n")
	masters := regexp.MustCompile(`//[^@]*@`).ReplaceAllString(addresses(c), "//")
	for _, test := range []struct {
		args []string
		code int
	}{
		{[]string{"--tls-ca", ca, "--user", "locker", "--password-file", good}, 0},
		{[]string{"--tls-ca", ca, "--user", "locker", "--password-file", bad}, 69},
		{[]string{"--tls-ca", ca}, 69},
		{[]string{"--user", "locker", "--password-file", good}, 69}, // not trusted
	} {
		args := append(append([]string{"exec", "--try", "--verbose", "--masters", masters}, test.args...), "k", "--", "true")
		stdout, stderr, code := output(t, nil, args...)
		if code != test.code || strings.Contains(stdout+stderr, "s3cret") || strings.Contains(stdout+stderr, "wr0ng") {
			t.Errorf("%q: exit code %d, %q, %q", test.args, code, stdout, stderr)
		}
	}
	// The URLs' own passwords.
	if _, stderr, code := output(t, nil, "exec", "--masters", addresses(c), "--tls-ca", ca, "k", "--", "true"); code != 0 || stderr != "" {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

// Each command gets a token that is higher than those before, for the resource
// to compare.
func TestExecGivesTheCommandAFencingToken(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	last := uint64(0)
	for range 3 {
		r := start(t, c, "--fence", "k", "--", "sh", "-c", `echo "$REDLOCK_FENCE"`)
		if code := r.end(t); code != 0 {
			t.Fatalf("code %d: %s", code, r.stderr.String())
		}
		fence, err := strconv.ParseUint(strings.TrimSpace(r.stdout.String()), 10, 64)
		if err != nil || fence <= last {
			t.Errorf("token %q after %d", r.stdout.String(), last)
		}
		last = fence
	}
}

// A quarantine passes: whoever may wait for its end need not be woken.
func TestExecWaitsForAQuorumAsLongAsItIsTold(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	urls := addresses(c)
	initialize(t, urls, "--max-ttl", "8s")
	restart(t, true, c.Masters[:2]...)
	args := []string{"exec", "--masters", urls, "--max-ttl", "8s", "--ttl", "5s"}
	waiting := startCommand(t, command(t, nil, slices.Concat(args, []string{"--verbose", "--wait", "1m", "--wait-quorum", "1m", "k", "--", "true"})...))
	trying := startCommand(t, command(t, nil, slices.Concat(args, []string{"--verbose", "--try", "--wait-quorum", "1m", "another", "--", "true"})...))
	// All begin at once: a busy machine must not run one of them when the quarantine is over.
	// How long a command says it waited includes its last attempt.
	impatient := []struct {
		flags []string
		says  string
	}{
		{[]string{"--try"}, `^redlock-demo: lock "k": no quorum: .*\.\n$`},
		{[]string{"--wait", "1m", "--wait-quorum", "0s"}, `^redlock-demo: lock "k": no quorum: .*The outage ended the waiting, not a holder\.\n$`},
		{[]string{"--wait", "1m"}, `^redlock-demo: no quorum for lock "k", trying again: .*\nredlock-demo: lock "k": no quorum for [3-8](\.\d)? s: .* (was|were) .*; (it votes|they vote) again at \d\d:\d\d:\d\d \(in \d s\)\.( The other one cannot decide alone\.)? The outage ended the waiting, not a holder\.\n$`},
	}
	var ran []*running
	for _, test := range impatient {
		ran = append(ran, startCommand(t, command(t, nil, slices.Concat(args, test.flags, []string{"k", "--", "true"})...)))
	}
	for i, test := range impatient {
		code := ran[i].end(t)
		if said := ran[i].stderr.String(); code != app.ExitNoQuorum || !regexp.MustCompile(test.says).MatchString(said) {
			t.Errorf("%q: exit code %d, %q", test.flags, code, said)
		}
	}
	for key, r := range map[string]*running{"k": waiting, "another": trying} {
		told := fmt.Sprintf("redlock-demo: no quorum for lock %q, trying again: ", key)
		if code := r.end(t); code != 0 || strings.Count(r.stderr.String(), told) != 1 {
			t.Errorf("%s: exit code %d, %s", key, code, r.stderr.String())
		}
	}
}

// The first attempt does not wait for connections. Those that take longer than an answer may
// get the time that they need all the same.
func TestExecGivesSlowConnectionsTheirTime(t *testing.T) {
	t.Parallel()
	for _, how := range [][]string{{"--try"}, {"--wait", "1m"}} {
		c := rig.Cluster(t, 3)
		initialize(t, rig.List(c))
		for _, m := range c.Masters() {
			m.Freeze() // accepts, and does not greet
		}
		r := startCommand(t, command(t, nil, slices.Concat([]string{"exec", "--masters", rig.List(c), "--wait-quorum", "0s"}, how, []string{"k", "--", "echo", "it ran"})...))
		time.Sleep(700 * time.Millisecond) // twice an attempt; where exec begins later the test passes, too
		for _, m := range c.Masters() {
			m.Thaw()
		}
		if code := r.end(t); code != 0 || r.stdout.String() != "it ran\n" {
			t.Errorf("%q: exit code %d, %q", how, code, r.stderr.String())
		}
	}
}

// What no waiting mends is said at once.
func TestExecDoesNotWaitForAQuorumThatNeedsSomebody(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t, 3, redistest.Config{Password: "s3cret"})
	masters := regexp.MustCompile(`//[^@]*@`).ReplaceAllString(addresses(c), "//")
	for _, how := range []string{"--try", "--wait=1m"} {
		began := time.Now()
		_, stderr, code := output(t, nil, "exec", "--masters", masters, how, "--wait-quorum", "1h", "k", "--", "true")
		if code != app.ExitNoQuorum || !strings.Contains(stderr, ": password wanted (the master is up).") || time.Since(began) > 30*time.Second {
			t.Errorf("%s: exit code %d, %q", how, code, stderr)
		}
	}
}

// Callers that ask in the same instant may split the votes, so that each fails and nobody
// holds the lock. With --try that is not taken for a holder, as long as the keys go away.
func TestExecTriesAgainWhereTheVotesWereSplit(t *testing.T) {
	t.Parallel()
	c := servers(t, 5)
	for ttl, want := range map[string]int{"120": 0, hourInMS: app.ExitBusy} { // 120 ms: what a rollback will delete
		for i := range c.Masters {
			do(t, c.Masters[i:i+1], "SET", "k"+ttl, fmt.Sprintf("other-%d", i%3), "PX", ttl)
		}
		stdout, stderr, code := output(t, nil, "exec", "--masters", addresses(c), "--try", "k"+ttl, "--", "echo", "it ran")
		if code != want || (stdout == "it ran\n") != (want == 0) {
			t.Errorf("keys of %s ms: exit code %d, %q, %q", ttl, code, stdout, stderr)
		}
	}
}

// Whoever looks after the job has the time that the command takes to end.
func TestALossIsAnnouncedWhileTheCommandIsStillBeingEnded(t *testing.T) {
	t.Parallel()
	c := servers(t, 3)
	r := start(t, c, "--ttl", "1s", "--grace", "1m", "k", "--", "sh", "-c", `trap '' TERM; echo $$; while :; do sleep 0.1; done`)
	rig.Eventually(t, "it runs", func() bool { return len(r.pids(t)) == 1 })
	do(t, c.Masters, "SET", "k", "somebody else's", "PX", hourInMS)
	r.stderr.await(t, `lock "k" LOST: held by somebody else. The command is being stopped.`)
	if ended(r.pids(t)[0]) {
		t.Error("the command had ended before")
	}
	if err := syscall.Kill(r.pids(t)[0], syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if code := r.end(t); code != app.ExitLost || strings.Count(r.stderr.String(), "held by somebody else") != 1 {
		t.Errorf("exit code %d, %s", code, r.stderr.String())
	}
}

// A signal that would end exec would leave the command without its lock.
func TestSignalsThatWouldEndExecAreTheCommands(t *testing.T) {
	t.Parallel()
	c := servers(t, 1)
	signals := []syscall.Signal{syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGSYS, syscall.SIGSEGV, syscall.SIGALRM}
	if runtime.GOOS == "linux" {
		signals = append(signals, 35, 64) // of real time
	}
	for _, s := range signals {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			r := start(t, c, fmt.Sprint("k", int(s)), "--", "sh", "-c", fmt.Sprintf("trap 'echo got it; exit 3' %d; echo ready; while :; do sleep 0.05; done", int(s)))
			r.stdout.await(t, "ready")
			r.signal(t, s)
			if code := r.end(t); code != 3 || !strings.Contains(r.stdout.String(), "got it") {
				t.Errorf("exit code %d, %q, %q", code, r.stdout.String(), r.stderr.String())
			}
		})
	}
}
