//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

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
