package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/doctor"
	"github.com/redquorum/redquorum/cmd/internal/rig"
	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/internal/redistest"
)

// The page of an outage shows what the commands print.
var (
	outagePage = filepath.Join("..", "..", "docs", "how-to", "outage.md")
	alertRules = filepath.Join("..", "..", "deploy", "grafana", "alerts.yaml")
)

// A transcript is what was printed in an outage, by the names of the boxes in the page.
type transcript struct {
	t     *testing.T
	env   []string
	c     *redistest.Cluster
	boxes map[string]string
	text  string            // of the page
	page  map[string]string // its boxes
}

// Whoever reads it at night must be able to rely on it.
func TestThePageOfAnOutageIsAsItIs(t *testing.T) {
	t.Parallel()
	c, urls := processes(t, 5, redistest.Config{AppendOnly: redistest.AppendAlways})
	s := &transcript{t: t, c: c, boxes: map[string]string{}, env: []string{
		app.MastersVariable + "=" + urls, app.ConfigVariable + "=" + rig.File(t, "max-ttl = 20s\n"),
	}}
	s.read()
	if _, stderr, code := outputOf(t, s.command("init")); code != 0 {
		t.Fatal(stderr)
	}
	s.outage()
	s.recovery()
	s.compare()
}

// command is one of redlock's.
func (s *transcript) command(args ...string) *exec.Cmd {
	s.t.Helper()
	return ofTools(command(s.t, s.env, args...))
}

// outage takes three masters away from a job that holds a lock.
func (s *transcript) outage() {
	const job = "exec --ttl 5s nightly-report -- ./report"
	report := filepath.Join(s.t.TempDir(), "report")
	if err := os.WriteFile(report, []byte("#!/bin/sh\necho ready\nexec sleep 600\n"), 0o700); err != nil {
		s.t.Fatal(err)
	}
	holder := startCommand(s.t, s.command(strings.Fields(strings.Replace(job, "./report", report, 1))...))
	holder.stdout.await(s.t, "ready")
	for _, m := range s.c.Masters[2:] {
		if err := m.Kill(); err != nil {
			s.t.Fatal(err)
		}
	}
	if code := holder.end(s.t); code != app.ExitLost {
		s.t.Errorf("exit code %d", code)
	}
	s.boxes["lost"] = s.box("$ redlock "+job, holder.stderr.String())
	s.boxes["alert"] = s.alert("2")
	s.run("refused", app.ExitNoQuorum, "exec --try deploy -- make deploy")
	s.run("status", app.ExitNoQuorum, "status deploy")
	s.run("doctor", doctor.ExitSerious, "doctor --for 1s")
	s.runJSON("status in JSON", "status --json deploy", "{can_lock, votes, quorum, help, verdict: .keys[0].verdict}", "can_lock", "votes", "quorum", "help", "verdict")
	s.runJSON("doctor in JSON", "doctor --json --for 1s", ".findings[0]", "severity", "code", "masters", "what", "why", "do")
}

// recovery starts them again.
func (s *transcript) recovery() {
	for _, m := range s.c.Masters[2:] {
		if err := m.Restart(s.t.Context(), true); err != nil {
			s.t.Fatal(err)
		}
	}
	s.run("started", app.ExitNoQuorum, "status deploy")
	const waits = "exec --wait-quorum 2m deploy -- echo deployed"
	// The quarantines of the three begin just after each other: here they end in one second, and
	// so are told in one sentence.
	rig.Eventually(s.t, "a second has begun", func() bool { return time.Now().Nanosecond() < int(100*time.Millisecond) })
	waiting := startCommand(s.t, s.command(strings.Fields(waits)...))
	rig.Eventually(s.t, "the quarantine has begun", func() bool {
		stdout, _, _ := outputOf(s.t, s.command("status", "deploy"))
		return strings.Contains(stdout, " (in ")
	})
	s.run("quarantine", app.ExitNoQuorum, "status deploy")
	s.runJSON("quarantine in JSON", "status --json deploy", "{can_lock, at, in_ms}", "can_lock", "at", "in_ms")
	if code := waiting.end(s.t); code != 0 || !strings.HasPrefix(waiting.stderr.String(), "redlock: no quorum for lock \"deploy\", trying again: ") {
		s.t.Errorf("exit code %d, %s", code, waiting.stderr.String())
	}
	// How many of the others had answered by then differs from run to run, as the second does.
	told := regexp.MustCompile(`\(in \d+ s\)`).ReplaceAllString(waiting.stderr.String(), "(in 18 s)")
	s.boxes["waiting"] = s.box("$ redlock "+waits, told+waiting.stdout.String())
	rig.Eventually(s.t, "all masters vote", func() bool {
		stdout, _, _ := outputOf(s.t, s.command("status", "deploy"))
		return strings.HasPrefix(stdout, "Can lock: YES. 5 of 5 masters vote, 3 needed.\n")
	})
	s.run("end", 0, "status deploy")
}

// run runs a command, and makes a box of what it prints.
func (s *transcript) run(name string, code int, args string) {
	s.t.Helper()
	s.settle(name, func() string {
		stdout, stderr, got := outputOf(s.t, s.command(strings.Fields(strings.Replace(args, "make deploy", "true", 1))...))
		if got != code {
			s.t.Errorf("%s: exit code %d, want %d", args, got, code)
		}
		return s.box("$ redlock "+args, s.fixedTable(unhurried(stdout+stderr)))
	})
}

// settle makes a box. On a busy machine a master may look slow, or be silent for once,
// while nothing changes: then the box is made again.
func (s *transcript) settle(name string, box func() string) {
	s.t.Helper()
	for range 5 {
		if s.boxes[name] = box(); *rig.Update || s.boxes[name] == s.page[name] {
			return
		}
	}
}

// runJSON makes a box of what jq would make of the document.
func (s *transcript) runJSON(name, args, filter string, fields ...string) {
	s.t.Helper()
	stdout, _, _ := outputOf(s.t, s.command(strings.Fields(args)...))
	var document struct {
		Findings []map[string]json.RawMessage `json:"findings"`
		Keys     []map[string]json.RawMessage `json:"keys"`
	}
	var all map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal([]byte(stdout), &document), json.Unmarshal([]byte(stdout), &all)); err != nil {
		s.t.Fatal(err, stdout)
	}
	if document.Findings != nil {
		all = document.Findings[0]
	} else {
		all["verdict"] = document.Keys[0]["verdict"]
	}
	var b bytes.Buffer
	for i, field := range fields {
		if all[field] == nil {
			s.t.Errorf("%s: no %s in %s", args, field, stdout)
		}
		fmt.Fprintf(&b, "%s%q:%s", []string{",", "{"}[b2i(i == 0)], field, all[field])
	}
	b.WriteByte('}')
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, b.Bytes(), "", "  "); err != nil { // as jq prints it
		s.t.Fatal(err)
	}
	s.boxes[name] = s.box(fmt.Sprintf("$ redlock %s | jq '%s'", args, filter), pretty.String()+"\n")
}

func b2i(is bool) int {
	if is {
		return 1
	}
	return 0
}

// alert is what the rule for an outage says, with that many masters that vote.
func (s *transcript) alert(votes string) string {
	s.t.Helper()
	rules, err := os.ReadFile(alertRules)
	if err != nil {
		s.t.Fatal(err)
	}
	rule := regexp.MustCompile(`(?s)alert: (RedlockNoQuorum)\n.*?severity: (\w+).*?summary: "(.*?)"\n.*?description: "(.*?)"\n`).FindSubmatch(rules)
	if rule == nil {
		s.t.Fatal("there is no such rule")
	}
	text := fmt.Sprintf("%s (%s)\n%s\n%s\n", rule[1], rule[2], term.Wrap("", 0, 100, string(rule[3])), term.Wrap("", 0, 100, string(rule[4])))
	return s.box("", strings.NewReplacer("{{ $labels.instance }}", "app-17:9121", "{{ $value }}", votes).Replace(text))
}

// box is text as the page has it, with addresses, times and figures that are fixed. The
// addresses are as long as the real ones, so that nothing moves.
func (s *transcript) box(prompt, text string) string {
	for i, m := range s.c.Masters {
		fixed := fmt.Sprintf("10.0.0.10%d:6379", i+1)
		if len(fixed) != len(m.Addr()) {
			s.t.Fatalf("%s is not as long as %s", m.Addr(), fixed)
		}
		text = strings.ReplaceAll(text, m.Addr(), fixed)
	}
	for _, fix := range []struct{ what, by string }{
		{`"at": "[^"]*"`, `"at": "2026-11-23T20:24:17Z"`},
		{`"in_ms": \d+`, `"in_ms": 18000`},
		{`\b\d\d:\d\d:\d\d\b`, "20:24:17"},
		{`\(in \d+ s\)`, "(in 18 s)"},
	} {
		text = regexp.MustCompile(fix.what).ReplaceAllString(text, fix.by)
	}
	text = regexp.MustCompile(`\d+\.\d ms +`).ReplaceAllStringFunc(text, func(trip string) string { return fmt.Sprintf("%-*s", len(trip), "0.3 ms") })
	if prompt != "" {
		prompt += "\n"
	}
	return "```\n" + prompt + text + "```\n"
}

// unhurried is what doctor says where no master is slow: figures are fixed anyway, and
// on a busy machine all masters are slow now and then.
func unhurried(text string) string {
	slow := 0
	paragraphs := slices.DeleteFunc(strings.Split(text, "\n\n"), func(p string) bool {
		is := strings.HasPrefix(p, "· note ") && strings.Contains(strings.Join(strings.Fields(p), " "), ": is slow now and then (")
		slow += b2i(is)
		return is
	})
	text = strings.Join(paragraphs, "\n\n")
	return regexp.MustCompile(`(?m)\b(\d+) notes?$`).ReplaceAllStringFunc(text, func(count string) string {
		var n int
		_, _ = fmt.Sscan(count, &n) // it matches
		return term.Count(n-slow, "note")
	})
}

// figures are those of a master that doctor measures.
var figures = []string{"0.21 ms", "0.48 ms", "7.0.15", "+12µs ± 40µs"}

// fixedTable gives the table of doctor fixed figures.
func (s *transcript) fixedTable(text string) string {
	head, rest, found := strings.Cut(text, "   master           p50")
	if !found {
		return text
	}
	block, rest, _ := strings.Cut("   master           p50"+rest, "\n\n")
	var rows [][]string
	for line := range strings.Lines(block + "\n") {
		row := regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), -1)
		if len(row) == 8 && row[0] != "master" {
			row[1], row[2], row[3], row[7] = figures[0], figures[1], figures[2], figures[3]
		}
		rows = append(rows, row)
	}
	return head + term.Layout{}.Lines(rows) + "\n" + rest
}

// boxMark is where a box is in the page, by its name, and the box.
var boxMark = regexp.MustCompile("(?s)<!-- made by the test: ([^>]*) -->\n(?:\n(```\n.*?\n```\n))?")

// read reads the boxes of the page.
func (s *transcript) read() {
	s.t.Helper()
	text, err := os.ReadFile(outagePage)
	if err != nil {
		s.t.Fatal(err)
	}
	s.text, s.page = string(text), map[string]string{}
	for _, found := range boxMark.FindAllStringSubmatch(s.text, -1) {
		s.page[found[1]] = found[2]
	}
}

// compare compares the boxes with those of the page, or writes them there.
func (s *transcript) compare() {
	s.t.Helper()
	for name, box := range s.boxes {
		was, ok := s.page[name]
		switch {
		case !ok:
			s.t.Errorf("the box %q is not in %s", name, outagePage)
		case was != box && !*rig.Update:
			s.t.Errorf("the box %q is not as in %s (go test -update writes it):\n%s", name, outagePage, box)
		}
	}
	now := boxMark.ReplaceAllStringFunc(s.text, func(m string) string {
		name := boxMark.FindStringSubmatch(m)[1]
		if s.boxes[name] == "" {
			s.t.Errorf("nothing makes the box %q", name)
			return m
		}
		return "<!-- made by the test: " + name + " -->\n\n" + s.boxes[name]
	})
	if *rig.Update {
		if err := os.WriteFile(outagePage, []byte(now), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

// longest is how wide the widest line is.
func longest(text string) (n int) {
	for line := range strings.Lines(text) {
		n = max(n, utf8.RuneCountInString(strings.TrimRight(line, "\r\n")))
	}
	return n
}
