//go:build unix

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
)

// A lock does not remember that the work was done: the README's program has to look.
func TestTwoCopiesOfTheReadmesProgramChargeOnce(t *testing.T) {
	t.Parallel()
	var text string
	for _, b := range blocks(t, filepath.Join("..", "..", "README.md")) {
		if programMarker.MatchString(b.marker) {
			text = b.text
		}
	}
	masters, _ := processes(t, 5, redistest.Config{})
	for i, url := range masters.URLs() {
		text = strings.Replace(text, fmt.Sprintf("redis://127.0.0.1:710%d", i+1), url, 1)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	buildProgram(t, program, text)

	// Both begin before either has ended: they hold the lock in turn.
	said := make(chan string, 2)
	for range 2 {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Dir = dir
		go func() { // the test waits for its answer below
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			said <- string(out)
		}()
	}
	if both := <-said + <-said; both != "charging\n" {
		t.Errorf("two copies print %q: want one charge", both)
	}
}
