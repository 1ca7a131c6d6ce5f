//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestEveryCommandHasAManualPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if stdout, stderr, code := output(t, nil, "share", dir); code != 0 || stdout+stderr != "" {
		t.Fatalf("exit code %d, %q, %q", code, stdout, stderr)
	}
	pages := filepath.Join(dir, "man", "man1")
	page := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(pages, name+".1"))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	root := newRoot(&app{out: os.Stdout, err: os.Stderr, env: func(string) string { return "" }})
	all := page("redlock-demo")
	for _, cmd := range root.Commands() {
		if cmd.Hidden {
			continue
		}
		text := page("redlock-demo-" + cmd.Name())
		for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"} {
			if !strings.Contains(text, "\n.SH "+section+"\n") {
				t.Errorf("%s: no section %s", cmd.Name(), section)
			}
		}
		if !strings.Contains(all, "\n.B "+cmd.Name()+"\n") {
			t.Errorf("the page of the program does not name %s", cmd.Name())
		}
	}
	golden(t, "status-manual", regexp.MustCompile(`"redlock\\-demo [^"]*"`).ReplaceAllString(page("redlock-demo-status"), `"redlock\-demo VERSION"`))
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Logf("whether man can show the pages was not looked at: %v", err)
		return
	}
	files, err := filepath.Glob(filepath.Join(pages, "*.1"))
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		cmd := exec.Command(groff, "-man", "-Tutf8", "-Kutf8", "-ww", "-z", file)
		if wrong, err := cmd.CombinedOutput(); err != nil || len(wrong) > 0 {
			t.Errorf("%s: %v\n%s", file, err, wrong)
		}
	}
}

func TestACompletionIsOneThatTheShellTakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, stderr, code := output(t, nil, "share", dir); code != 0 {
		t.Fatalf("exit code %d, %q", code, stderr)
	}
	for _, file := range []string{"zsh/site-functions/_redlock-demo", "fish/vendor_completions.d/redlock-demo.fish"} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.Contains(string(text), "redlock-demo") {
			t.Errorf("%s: %v, %d bytes", file, err, len(text))
		}
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Logf("whether bash takes its completion was not looked at: %v", err)
		return
	}
	cmd := exec.Command(bash, "--norc", "-c", `source "$0" && complete -p redlock-demo`, filepath.Join(dir, "bash-completion", "completions", "redlock-demo"))
	if text, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(text), "redlock-demo") {
		t.Errorf("%v: %s", err, text)
	}
}

// The line is that of the page.
func TestThePromptOfThePageShowsTheLock(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "shell.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```bash\n(.*?)```").FindSubmatch(page)
	if found == nil {
		t.Fatal("the page has no prompt")
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Logf("what bash makes of the prompt was not looked at: %v", err)
		return
	}
	c := servers(t, 1)
	script := "PS1='here$ '\n" + string(found[1]) + `printf '%s' "${PS1@P}"`
	stdout, stderr, code := output(t, nil, "exec", "--masters", addresses(c), "deploy", "--", bash, "--norc", "-c", script)
	if want := `(locked ["deploy"]) here$ `; stdout != want || code != 0 {
		t.Errorf("exit code %d, %q, want %q; %s", code, stdout, want, stderr)
	}
	cmd := command(t, nil)
	cmd.Path, cmd.Args = bash, []string{"bash", "--norc", "-c", script}
	if text, err := cmd.Output(); err != nil || string(text) != "here$ " {
		t.Errorf("outside: %v, %q", err, text)
	}
}
