//go:build unix

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/exec"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

func TestExecLocksInTheFleetThatTheKeyBelongsTo(t *testing.T) {
	t.Parallel()
	named := map[string]*redistest.Cluster{"eu": servers(t, 1), "us": servers(t, 1), "asia": servers(t, 1)}
	shards := shardsOf(t, named)
	var flags, turned []string
	for name, c := range named {
		one := []string{"--masters", name + "=" + addresses(c)}
		flags, turned = append(flags, one...), append(one, turned...)
	}
	for i, shard := range []string{"eu", "us", "asia"} {
		key := keyIn(shards, shard)
		r := startCommand(t, command(t, nil, append(append([]string{"exec"}, [][]string{flags, turned}[i%2]...), key, "--", "sh", "-c", "echo $REDLOCK_TOKEN; read x")...))
		r.stdout.await(t, "\n")
		for name, c := range named {
			if got := value(t, c.Masters[0], key); (got != "") != (name == shard) || got != "" && got+"\n" != r.stdout.String() {
				t.Errorf("a key of %s is %q in %s, and its token %q", shard, got, name, r.stdout.String())
			}
		}
		if h, err := shards.TryLock(t.Context(), key); !errors.Is(err, redlock.ErrTaken) {
			t.Errorf("a program that has the same names is not kept out: %v, %v", h, err)
		}
		r.say(t, "")
		if code := r.end(t); code != 0 {
			t.Errorf("exit code %d, %q", code, r.stderr.String())
		}
	}
}

// One fleet's outage concerns its keys alone.
func TestExecSaysWhichFleetHasNoQuorum(t *testing.T) {
	t.Parallel()
	named := map[string]*redistest.Cluster{"eu": servers(t, 1), "us": servers(t, 1)}
	shards := shardsOf(t, named)
	down, up := keyIn(shards, "us"), keyIn(shards, "eu")
	flags := []string{"exec", "--try", "--json", "--masters", "us=" + addresses(named["us"]), "--masters", "eu=" + addresses(named["eu"])}
	kill(t, named["us"].Masters[0])
	for key, want := range map[string]struct {
		code         int
		fleet, error string
	}{down: {app.ExitNoQuorum, "us", `lock "` + down + `": no quorum in fleet "us": `}, up: {0, "eu", ""}} {
		_, stderr, code := output(t, nil, append(flags, key, "--", "true")...)
		if r := rig.Parse[exec.ExecReport](t, stderr); code != want.code || strings.Join(r.Fleets, " ") != want.fleet || !strings.HasPrefix(r.Error, want.error) || want.error == "" && r.Error != "" {
			t.Errorf("%s: exit code %d, %s", key, code, stderr)
		}
	}
}

// While masters are changed, a shell takes part as a program does.
func TestExecTakesPartInAMove(t *testing.T) {
	t.Parallel()
	before, after := servers(t, 1), servers(t, 1)
	old, young := addresses(before), addresses(after)
	initialize(t, old)
	initialize(t, young)
	moving := []string{"exec", "--masters", old, "--move-to", young}
	r := startCommand(t, command(t, nil, append(moving, "--fence", "k", "--", "sh", "-c", `echo "fence $REDLOCK_FENCE token $REDLOCK_TOKEN."; read x`)...))
	r.stdout.await(t, " token .\n")
	if value(t, before.Masters[0], "k") == "" || value(t, after.Masters[0], "k") == "" {
		t.Error("the key is not in both fleets")
	}
	for who, args := range map[string][]string{
		"who uses the old fleet alone": {"exec", "--masters", old},
		"who uses the new fleet alone": {"exec", "--masters", young},
		"who uses both":                moving,
	} {
		if _, stderr, code := output(t, nil, append(args, "--try", "k", "--", "true")...); code != app.ExitBusy || !strings.Contains(stderr, `lock "k" is taken`) {
			t.Errorf("%s is not kept out: exit code %d, %q", who, code, stderr)
		}
	}
	// A command that runs while the fleet is closed goes on.
	if stdout, stderr, code := output(t, nil, "fleet", "close", "--masters", old, "--to", young); code != app.ExitBusy {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	r.say(t, "")
	if code := r.end(t); code != 0 {
		t.Errorf("exit code %d, %q", code, r.stderr.String())
	}
	config := rig.File(t, "masters = "+old+"\nmove-to = "+young+"\n")
	for _, args := range [][]string{moving, {"exec", "--config", config}} {
		if _, stderr, code := output(t, nil, append(args, "--try", "k", "--", "true")...); code != 0 {
			t.Errorf("%q, after the old fleet was closed: exit code %d, %q", args, code, stderr)
		}
	}
	// What overrules the masters of a file overrules where they are moved to.
	for _, args := range [][]string{{"exec", "--masters", old}, {"exec", "--config", config, "--masters", old}} {
		if _, stderr, code := output(t, nil, append(args, "--try", "k", "--", "true")...); code != app.ExitNoQuorum || !strings.Contains(stderr, "this fleet is being moved to ") {
			t.Errorf("%q: who was forgotten: exit code %d, %q", args, code, stderr)
		}
	}
}

func TestExecLosesItsLockWithEitherFleetOfAMove(t *testing.T) {
	t.Parallel()
	before, after := servers(t, 1), servers(t, 1)
	r := startCommand(t, command(t, nil, "exec", "--ttl", "1s", "--masters", addresses(before), "--move-to", addresses(after), "k", "--", "sh", "-c", "echo held; exec sleep 100"))
	r.stdout.await(t, "held")
	kill(t, after.Masters[0])
	if code := r.end(t); code != app.ExitLost || !strings.Contains(r.stderr.String(), `lock "k" LOST in fleet "to": `) {
		t.Errorf("exit code %d, %q", code, r.stderr.String())
	}
	free(t, before, "k")
}

func TestExecTakesPartWhereAShardIsAdded(t *testing.T) {
	t.Parallel()
	named := map[string]*redistest.Cluster{"a": servers(t, 1), "b": servers(t, 1), "c": servers(t, 1)}
	for _, name := range []string{"a", "b"} { // before a client does it
		initialize(t, addresses(named[name]))
	}
	three := shardsOf(t, named)
	key := keyIn(three, "c")
	two := shardsOf(t, map[string]*redistest.Cluster{"a": named["a"], "b": named["b"]})
	was := two.Shard(key)
	flag := func(flag, name string) []string { return []string{flag, name + "=" + addresses(named[name])} }
	moving := []string{"exec", "--try", "--fence"}
	for _, name := range []string{"a", "b"} {
		if stdout, stderr, code := output(t, nil, "fleet", "close", "--masters", addresses(named[name]), "--to", "three-shards"); code != app.ExitBusy {
			t.Fatalf("exit code %d, %q\n%s", code, stderr, stdout)
		}
		moving = append(moving, flag("--masters", name)...)
	}
	for _, name := range []string{"c", "b", "a"} {
		moving = append(moving, flag("--move-to", name)...)
	}
	if stdout, stderr, code := output(t, nil, append(moving, key, "--", "true")...); code != app.ExitNoQuorum || !strings.Contains(stderr, `in fleet "from/`+was+`"`) || !strings.Contains(stderr, "three-shards") {
		t.Errorf("without the name of the move: exit code %d, %q\n%s", code, stderr, stdout)
	}
	moving = append(moving, "--moved-to", "three-shards")
	r := startCommand(t, command(t, nil, append(moving, key, "--", "sh", "-c", "echo held; read x")...))
	r.stdout.await(t, "held")
	for name, c := range named {
		if held := value(t, c.Masters[0], key) != ""; held != (name == "c" || name == was) {
			t.Errorf("a key that goes from %s to c is in %s: %v", was, name, held)
		}
	}
	r.say(t, "")
	if code := r.end(t); code != 0 {
		t.Errorf("exit code %d, %q", code, r.stderr.String())
	}
	// A key that stays is locked once.
	stays := "k"
	for two.Shard(stays) != three.Shard(stays) {
		stays += "k"
	}
	if stdout, stderr, code := output(t, nil, append(moving, "--json", stays, "--", "sh", "-c", "echo $REDLOCK_TOKEN")...); code != 0 || len(stdout) < 20 || !strings.Contains(stderr, `"fleets":["from/`+two.Shard(stays)+`"]`) {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
}
