//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/testutil"
	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/internal/redistest/port"
)

// The shell blocks of every page run in one bash and one folder, in the order of the
// page. They print to standard output what the page shows below them. Programs are
// built, and run where the page shows their output below them.
//
// A page that starts masters gets those, at ports of the test's own; the others find
// five masters in REDLOCK_MASTERS.
func TestCommandsOfThePagesRun(t *testing.T) {
	t.Parallel()
	if err := redistest.Available(); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, page := range pages(t) {
		if !hasRun(blocks(t, page)) {
			continue
		}
		ran++
		name, _ := filepath.Rel(filepath.Join("..", ".."), page)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runPage(t, blocks(t, page))
		})
	}
	// A reader goes on with the masters that the README has started. None is left at the end.
	t.Run("README.md and then the tutorial", func(t *testing.T) {
		t.Parallel()
		root := filepath.Join("..", "..")
		ports := runPage(t, append(blocks(t, filepath.Join(root, "README.md")), blocks(t, filepath.Join(root, "docs", "tutorial", "ten-minutes.md"))...))
		for _, port := range ports {
			if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
				_ = conn.Close()
				t.Errorf("a server listens on %s in the end", port)
			}
		}
	})
	if ran < 4 {
		t.Errorf("%d pages have something to run: too few to be all", ran)
	}
}

func hasRun(all []*block) bool {
	for _, b := range all {
		if runs(b) {
			return true
		}
	}
	return false
}

// runs reports whether a block is to be run.
func runs(b *block) bool { return b.lang == "sh" && !notRun.MatchString(b.marker) }

// fixedPorts matches the ports of the masters that a page starts.
var fixedPorts = regexp.MustCompile(`\b710[1-5]\b`)

// runPage runs a page, and returns the ports that it used instead of 7101 to 7105.
func runPage(t *testing.T, all []*block) (ports []string) {
	dir := t.TempDir()
	ports = freePorts(t)
	own := func(text string) string {
		return fixedPorts.ReplaceAllStringFunc(text, func(port string) string {
			n, _ := strconv.Atoi(port)
			return ports[n-7101]
		})
	}
	env := []string{"PATH=" + filepath.Dir(binary) + string(filepath.ListSeparator) + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C.UTF-8"}
	var script strings.Builder
	starts := false
	for i, b := range all {
		switch {
		case b.lang == "go" && programMarker.MatchString(b.marker):
			name := programMarker.FindStringSubmatch(b.marker)[1]
			buildProgram(t, filepath.Join(dir, name), own(b.text))
			if b.below != nil && b.below.lang == "text" {
				fmt.Fprintf(&script, "echo '<<<%d>>>'\n./%s || exit\n", i, name)
			}
		case runs(b):
			starts = starts || strings.Contains(b.text, "redis-server ")
			want := "0"
			if code := exitMarker.FindStringSubmatch(b.marker); code != nil {
				want = code[1]
			}
			fmt.Fprintf(&script, "echo '<<<%d>>>'\n%s\n[ $? = %s ] || { echo 'the exit code is not %s'; exit 1; }\n", i, own(b.text), want, want)
		}
	}
	if starts {
		t.Cleanup(func() { // for a page that has stopped early
			for _, port := range ports {
				_ = exec.Command("redis-cli", "-p", port, "shutdown", "nosave").Run()
			}
		})
	} else {
		_, urls := processes(t, 5, redistest.Config{AppendOnly: redistest.AppendAlways})
		env = append(env, app.MastersVariable+"="+urls)
	}

	out, errs, err := bash(t, dir, env, script.String())
	parts := regexp.MustCompile(`(?m)^<<<(\d+)>>>\n`).FindAllStringSubmatchIndex(out, -1)
	for n, part := range parts {
		i, _ := strconv.Atoi(out[part[2]:part[3]])
		end := len(out)
		if n+1 < len(parts) {
			end = parts[n+1][0]
		}
		said, b := out[part[1]:end], all[i]
		if below := b.below; below != nil && below.lang == "text" && !shows(own(below.text), said) {
			t.Errorf("%s:%d: it prints\n%s\nand not\n%s", b.page, b.line, said, own(below.text))
		}
	}
	if err != nil {
		t.Errorf("%v\n%s\n%s", err, out, errs)
	}
	return ports
}

// Redis and the command accept the configurations that the pages show for them.
func TestConfigurationsOfThePagesAreTaken(t *testing.T) {
	t.Parallel()
	seen := make(map[string]int)
	for _, page := range pages(t) {
		for _, b := range blocks(t, page) {
			if b.lang != "conf" {
				continue
			}
			var err error
			switch {
			case strings.Contains(b.text, "appendonly "):
				seen["redis"]++
				t.Run("redis-server", func(t *testing.T) {
					if redistest.Available() != nil {
						redistest.Start(t, 1, redistest.Config{}) // it skips, or fails where one is required
					}
					err = startsRedis(t, b.text)
				})
			case strings.Contains(b.text, "masters "):
				seen["the command"]++
				_, err = app.ReadConfig(t.Context(), testutil.File(t, b.text))
			default:
				t.Errorf("%s:%d: a configuration of nothing that the test knows", page, b.line)
			}
			if err != nil {
				t.Errorf("%s:%d: %v", page, b.line, err)
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("%v: configurations of one sort are missing", seen)
	}
}

// startsRedis returns what keeps a redis-server from starting with the configuration.
func startsRedis(t *testing.T, text string) error {
	t.Helper()
	server, _, err := redistest.Find()
	if err != nil {
		t.Fatal(err)
	}
	port := freePorts(t)[0]
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, server, testutil.File(t, text), "--port", port)
	cmd.Dir = t.TempDir()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // the test waits for it below
	for {
		select {
		case err := <-ended:
			return fmt.Errorf("redis-server: %v\n%s", err, out.String())
		case <-time.After(20 * time.Millisecond):
		}
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		_ = conn.Close()
		_ = cmd.Process.Kill()
		var killed *exec.ExitError
		if err := <-ended; !errors.As(err, &killed) {
			return fmt.Errorf("redis-server did not end by being killed: %w", err)
		}
		return nil
	}
}

// bash runs a script in a process group of its own, which has ended when it returns.
func bash(t *testing.T, dir string, env []string, script string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-uc", script)
	cmd.Dir, cmd.Env = dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 5 * time.Second
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it has left in the background
	}
	return out.String(), errs.String(), err
}

// shows reports whether a page shows what was printed. In the page … matches anything within
// a line, and on a line of its own any lines, also none.
func shows(page, printed string) bool {
	var pattern strings.Builder
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, " \n")
		if line == "…" {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".+") + ` *\n`)
	}
	return regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(printed)
}

// buildProgram builds a page's program in this tree.
func buildProgram(t *testing.T, to, text string) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{
		"Replace": map[string]string{filepath.Join(root, "internal", "page", "main.go"): source},
	})
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(config, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", config, "-o", to, "./internal/page")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// freePorts returns five ports on which only servers of the test listen.
func freePorts(t *testing.T) []string {
	t.Helper()
	var ports []string
	for range 5 {
		n, free, err := port.Reserve()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = free() })
		ports = append(ports, strconv.Itoa(n))
	}
	return ports
}
