package container

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestContainersAreReachedDirectlyWhereTheyAreOnThisMachine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		system, info string
		want         bool
	}{
		{"linux", "20.10.24\tDebian GNU/Linux 12 (bookworm)\t[name=seccomp,profile=default]", true},
		{"linux", "28.2.2\tUbuntu 24.04.2 LTS\t[name=apparmor name=seccomp,profile=builtin name=rootless name=cgroupns]", false},
		{"linux", "28.2.2\tDocker Desktop\t[name=seccomp,profile=unconfined]", false},
		{"darwin", "28.2.2\tDocker Desktop\t[name=seccomp,profile=unconfined]", false},
		{"darwin", "20.10.24\tAlpine Linux v3.20\t[]", false},
	} {
		if got := direct(test.system, test.info); got != test.want {
			t.Errorf("%s, %q: %v", test.system, test.info, got)
		}
	}
}

func TestTheReasonIsOneSentence(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"Error response from daemon: No such container: x\n":                                    "No such container: x",
		"docker: Error response from daemon: Conflict.\nSee 'docker run --help'.\n":             "Conflict",
		"\nCannot connect to the Docker daemon at unix:///x. Is the docker daemon running?\n\n": "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?",
	} {
		if got := reason(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

func TestAddressesAreChosenFromTheSubnetOfTheEngine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ said, want, err string }{
		{said: "172.19.0.0/16 172.19.0.1\n", want: "172.19.0.2 172.19.0.3 172.19.0.4"},
		{said: "fd00::/64 fd00::1\n10.1.2.0/29 10.1.2.3\n", want: "10.1.2.1 10.1.2.2 10.1.2.4"},
		{said: "10.1.2.8/29 10.1.2.9", want: "10.1.2.10 10.1.2.11 10.1.2.12"},
		{said: "10.1.2.0/30 10.1.2.1", err: "the subnet 10.1.2.0/30 has no room for 3 containers"},
		{said: "fd00::/64 fd00::1\n", err: "the engine gives no subnet with a gateway"},
		{said: "172.19.0.0/16", err: "the engine gives no subnet with a gateway"},
		{said: "", err: "the engine gives no subnet with a gateway"},
	} {
		subnet, gateway, err := parseSubnet(test.said)
		var list []netip.Addr
		if err == nil {
			list, err = addresses(subnet, gateway, 3)
		}
		var got []string
		for _, a := range list {
			got = append(got, a.String())
		}
		if strings.Join(got, " ") != test.want || (err == nil) != (test.err == "") || err != nil && !strings.HasPrefix(err.Error(), test.err) {
			t.Errorf("%q: %q, %v", test.said, got, err)
		}
	}
}

func TestFreePortsAreDifferent(t *testing.T) {
	t.Parallel()
	ports, err := freePorts(5)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ports)
	if len(slices.Compact(ports)) != 5 {
		t.Errorf("%q", ports)
	}
}

func TestACommandEndsAtTheDeadlineAndNotWhenItIsCancelled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "docker")
	//nolint:gosec // it has to be run
	if err := os.WriteFile(program, []byte("#!/bin/sh\n[ \"$1\" = hang ] && exec sleep 60\n: >\"$2\"\nwhile [ ! -s \"$2\" ]; do sleep 0.01; done\necho done\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	e := &Engine{program: program}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := e.run(ctx, time.Minute, "hang"); err == nil || !strings.HasPrefix(err.Error(), "docker hang took more than ") {
		t.Errorf("an engine that hangs: %v", err)
	}
	cancelled, stop := context.WithCancel(t.Context())
	file := filepath.Join(dir, "begun") // by the command, which ends when something is in it
	go func() {
		for ; ; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(file); err == nil {
				break
			}
		}
		stop()
		_ = os.WriteFile(file, []byte("end"), 0o600)
	}()
	if said, err := e.run(cancelled, time.Minute, "finish", file); said != "done" || err != nil {
		t.Errorf("a command that is under way: %q, %v", said, err)
	}
	if said, err := e.run(cancelled, time.Minute, "begin"); said != "" || err == nil {
		t.Errorf("a command that has not begun: %q, %v", said, err)
	}
}
