//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/chaos"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/container"
)

// imageAtHand is that of the containers that these tests start; they are skipped,
// with the reason, where none can be.
func imageAtHand(t *testing.T) string {
	t.Helper()
	images := []string{container.OfficialImage, container.LocalImage}
	if image := os.Getenv(container.ImageVariable); image != "" {
		images = []string{image}
	}
	var first error
	for _, image := range images {
		_, err := container.Find(t.Context(), image)
		if err == nil {
			return image
		}
		if first == nil {
			first = err
		}
	}
	t.Skipf("needs containers: %v", first)
	return ""
}

// containersOf lists what containers and networks there are of a process.
func containersOf(t *testing.T, pid int) (left []string) {
	t.Helper()
	for _, list := range [][]string{{"ps", "--all"}, {"network", "ls"}} {
		out, err := exec.Command("docker", append(list, "--filter", "label="+container.Label, "--format", `{{.Label "`+container.Label+`"}}`)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		for run := range strings.FieldsSeq(string(out)) {
			if strings.HasPrefix(run, strconv.Itoa(pid)+"-") {
				left = append(left, list[0]+" "+run)
			}
		}
	}
	return left
}

const allFaults = "500ms kill 1\n600ms freeze 2\n1s thaw 2\n1100ms restart 1\n1200ms empty 3\n1300ms cut 4,5\n1400ms heal 4,5\n2s end\n"

func TestChaosBreaksMastersInContainers(t *testing.T) {
	image := imageAtHand(t)
	cmd := command(t, []string{container.ImageVariable + "=" + image}, "chaos", "--containers", "--script", file(t, allFaults), "--json", "--hold", "50ms")
	var stdout, stderr watched
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var r chaos.Result
	if code := codeOf(t, err); code != 0 || stderr.String() != "" || json.Unmarshal([]byte(stdout.String()), &r) != nil {
		t.Fatalf("exit code %d, %q\n%s", code, stderr.String(), stdout.String())
	}
	if r.Verdict != chaos.VerdictHeld || r.Masters != "containers" || r.Check.Holds == 0 || r.Check.Tokens == 0 || r.Counts.Failed != 0 ||
		!strings.HasPrefix(r.Version, "redis-server ") || !strings.HasSuffix(r.Version, " ("+image+")") {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{
		"master 1 killed", "master 2 frozen", "master 2 thawed", "master 1 restarted with its data", "master 3 restarted empty",
		"master 4 cut off", "master 5 cut off", "master 4 reachable again", "master 5 reachable again",
	} {
		if !strings.Contains(stdout.String(), `"text": "`+want+`"`) {
			t.Errorf("not told: %s in\n%s", want, stdout.String())
		}
	}
	if left := containersOf(t, cmd.Process.Pid); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestContainersAreRemovedWhateverEndsChaos(t *testing.T) {
	image := imageAtHand(t)
	for _, test := range []struct {
		name   string
		signal syscall.Signal
		stderr string
	}{
		{"SIGINT", syscall.SIGINT, "redlock-demo: ended by SIGINT\n"},
		{"SIGTERM", syscall.SIGTERM, "redlock-demo: ended by SIGTERM\n"},
		{"a fatal error of the runtime", syscall.SIGSEGV, ""},
		{"SIGKILL", syscall.SIGKILL, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := command(t, nil, "chaos", "--containers", "--image", image, "--hold", "50ms", "--duration", "1m")
			var stdout, stderr watched
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			stdout.await(t, "5 masters in containers, ")
			if found := containersOf(t, cmd.Process.Pid); len(found) != 6 {
				t.Errorf("%d containers and networks, want 6: %q", len(found), found)
			}
			if err := cmd.Process.Signal(test.signal); err != nil {
				t.Fatal(err)
			}
			err := cmd.Wait()
			if test.stderr != "" {
				if code := codeOf(t, err); code != exitSignal+int(test.signal) || stderr.String() != test.stderr {
					t.Errorf("exit code %d, %q", code, stderr.String())
				}
				if left := containersOf(t, cmd.Process.Pid); len(left) > 0 {
					t.Errorf("left behind: %q", left)
				}
				return
			}
			if err == nil {
				t.Error("it went on")
			}
			eventually(t, "all is removed", func() bool { return len(containersOf(t, cmd.Process.Pid)) == 0 })
		})
	}
}

func TestAStartOfContainersCanBeBrokenOff(t *testing.T) {
	image := imageAtHand(t)
	cmd := command(t, nil, "chaos", "--containers", "--image", image)
	var stdout, stderr watched
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "something is there", func() bool { return len(containersOf(t, cmd.Process.Pid)) > 0 })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if code := codeOf(t, cmd.Wait()); code != 143 || stderr.String() != "redlock-demo: ended by SIGTERM\n" {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("ended %v after the signal", took)
	}
	if left := containersOf(t, cmd.Process.Pid); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// fakeDocker is a docker command that does what the lines of the script say.
func fakeDocker(t *testing.T, script string) (path string) {
	t.Helper()
	dir := t.TempDir()
	//nolint:gosec // it has to be run
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return "PATH=" + dir + ":/usr/bin:/bin"
}

func TestWithoutContainersChaosSaysWhatHelps(t *testing.T) {
	t.Parallel()
	const fine = `case "$1" in info) echo '28.0	Linux	[]'; exit;; image) echo id; exit;; esac; `
	for _, test := range []struct{ name, path, want string }{
		{"no command", "PATH=/nonexistent", "there is no docker command to start containers with: see https://docs.docker.com/engine/install/"},
		{
			"no engine", fakeDocker(t, "echo 'Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?' >&2; exit 1\n"),
			"no Docker engine answers (docker info asks it): Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?",
		},
		{
			"no image", fakeDocker(t, `[ "$1" = info ] && exit; echo 'Error response from daemon: no such image: r:1: No such image: r:1' >&2; exit 1`+"\n"),
			"the image r:1 is not there: docker pull r:1 fetches it; make image builds redquorum/redis:local without a registry",
		},
		{
			"an engine that refuses", fakeDocker(t, fine+`[ "$1 $2" = "network create" ] && { echo 'Error response from daemon: all predefined address pools have been fully subnetted' >&2; exit 1; }; exit 0`+"\n"),
			"a network for the containers: all predefined address pools have been fully subnetted",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := output(t, []string{test.path}, "chaos", "--containers", "--image", "r:1")
			if code != exitOS || stdout != "" || stderr != "redlock-demo: starting the masters: "+test.want+"\n" {
				t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
			}
		})
	}
	stdout, stderr, code := output(t, []string{container.ImageVariable + "=a b"}, "chaos", "--containers")
	if code != exitUsage || stdout != "" || stderr != "redlock-demo: REDIS_IMAGE=\"a b\": want the name of an image, such as redis:7.4-alpine\n" {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}
