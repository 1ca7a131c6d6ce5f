package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/full"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/internal/redistest"
)

// A probe shows that a command heeds a shared flag.
type probe struct {
	flag     string // and its value
	commands []string
	shows    string // a regular expression, for what is printed with the flag
	how      how
}

// how a probe is made.
type how int

const (
	alone    how = iota // nothing but the flag has the command print that
	compared            // with what is printed without the flag
)

// The masters of the probes are three, of which two were restarted and are in
// quarantine. What demo heeds the root does, which runs it.
var probes = []probe{
	{"masters ,", []string{"demo", "exec k -- true", "status k", "locks", "release --yes k", "wait k", "doctor", "init", "fleet close --to x", "chaos"}, "names no masters", alone},
	{"config /no/such/file", []string{"demo", "exec k -- true", "status k", "locks", "release --yes k", "wait k", "doctor", "init", "fleet close --to x", "chaos --for 1s"}, "no such file", alone},
	{"max-ttl 21ms", []string{"demo", "exec --try k -- true", "chaos --for 1s"}, "21ms: want|longest TTL of 21ms|MaxTTL 21ms|above --max-ttl", alone},
	{"max-ttl 30s", []string{"status k", "doctor --for 100ms"}, "NO. 0 of 3 masters vote", compared},
	{"max-ttl 30s", []string{"init --json", "fleet close --json --to redis://127.0.0.1:1"}, `"max_ttl_ms": 30000`, compared},
	{"client-skew 1h", []string{"exec --try k -- true", "status k", "doctor --for 100ms"}, `\(in (1h\d+m|\d\dm)\d+s\)`, compared},
	{"client-skew 1h", []string{"chaos --for 2s --masters URLS"}, `votes again at .* \(in (1h\d+m|\d\dm)\d+s\)`, compared},
	{"client-skew 1h", []string{"init --json", "fleet close --json --to redis://127.0.0.1:1"}, `"quarantine_ms": 36`, compared},
	{"json", []string{"demo", "status k", "locks", "release --yes k", "wait k", "doctor --for 100ms", "init", "fleet close --to redis://127.0.0.1:1", "chaos --for 1s"}, `(?s)^\{.*\}\s*$`, alone},
}

// ownFlags are commands that have a flag of their own where others have a shared one.
var ownFlags = []string{"exec --json"}

// commandOf is the command that a command line is of.
func commandOf(line string) string {
	name, _, _ := strings.Cut(line, " ")
	return name
}

// Whoever reads of a flag in the help of a command relies on it.
func TestTheHelpListsOnlyWhatACommandHeeds(t *testing.T) {
	t.Parallel()
	probed := func(command, flag string) bool {
		return slices.ContainsFunc(probes, func(p probe) bool {
			name, _, _ := strings.Cut(p.flag, " ")
			return name == flag && slices.ContainsFunc(p.commands, func(line string) bool { return commandOf(line) == command })
		})
	}
	root := full.Demo(&app.App{Out: os.Stdout, Err: os.Stderr, Env: func(string) string { return "" }})
	for _, cmd := range append(root.Commands(), root) {
		name := cmd.Name()
		if cmd == root {
			name = "demo"
		}
		for _, shared := range app.SharedNames {
			flag := cmd.Flags().Lookup(shared)
			listed := flag != nil && !flag.Hidden && !cmd.Hidden && !slices.Contains(ownFlags, name+" --"+shared)
			if listed != probed(name, shared) {
				t.Errorf("%q lists --%s: %v. That it heeds it is probed: %v. A command lists those that it registers", name, shared, listed, !listed)
			}
		}
	}
}

func TestACommandHeedsTheFlagsThatItLists(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 3, redistest.Config{AppendOnly: redistest.AppendAlways})
	client := rig.Opened(t, c)
	defer client.Close() // before the probes
	if err := client.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	restart(t, true, c.Masters[:2]...)
	rig.Eventually(t, "both are in quarantine", func() bool {
		n := 0
		for _, m := range client.Masters(t.Context()) {
			if m.Why != nil && m.Why.Left > 0 {
				n++
			}
		}
		return n == 2
	})
	for _, p := range probes {
		for _, line := range p.commands {
			t.Run(strings.TrimSpace(commandOf(line)+" --"+p.flag), func(t *testing.T) {
				t.Parallel()
				p.probe(t, urls, line)
			})
		}
	}
}

// probe runs a command line with the flag and without.
func (p *probe) probe(t *testing.T, urls, line string) {
	t.Helper()
	flag := strings.Fields("--" + p.flag)
	name, rest, _ := strings.Cut(strings.Replace(line, "URLS", urls, 1), " ")
	var env []string
	if name != "demo" && name != "chaos" {
		env = []string{app.MastersVariable + "=" + urls}
	}
	run := func(flag ...string) string {
		args := slices.Concat([]string{name}, flag, strings.Fields(rest))
		stdout, stderr, _ := output(t, env, args...)
		if stdout == "" {
			return stderr
		}
		if p.how == compared {
			stdout += stderr
		}
		return stdout
	}
	shows := regexp.MustCompile(p.shows)
	if with := run(flag...); !shows.MatchString(with) {
		t.Errorf("with %q:\n%s", flag, with)
	}
	if p.how == alone {
		return
	}
	if without := run(); shows.MatchString(without) {
		t.Errorf("without %q:\n%s", flag, without)
	}
}
