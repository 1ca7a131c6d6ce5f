// Package container runs Redis masters in containers: each at an address of its
// own on a private network, so that they can be paused and cut off as well as
// killed. It drives the engine by the docker command, which whoever has an engine
// has set up already: where the engine is, as whom, and by which certificates.
package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Images of Redis.
const (
	ImageVariable = "REDIS_IMAGE"           // names the image where nothing else does
	OfficialImage = "redis:7.4-alpine"      // as in deploy/compose.yaml
	LocalImage    = "redquorum/redis:local" // of make image
)

const (
	findBound    = 5 * time.Second  // an engine that is there answers sooner
	commandBound = 20 * time.Second // one command, on a machine that is busy
)

// An Engine is a container engine with an image of Redis.
type Engine struct {
	program string
	image   string
	direct  bool // the addresses of containers can be reached from here
}

// Find looks for the docker command, the engine and the image, which it does not
// pull. It takes at most 10 s. The errors say what is missing, and what helps.
func Find(ctx context.Context, image string) (*Engine, error) {
	e, err := find()
	if err != nil {
		return nil, err
	}
	e.image = image
	said, err := e.run(ctx, findBound, "info", "--format", "{{.ServerVersion}}\t{{.OperatingSystem}}\t{{.SecurityOptions}}")
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("no Docker engine answers (docker info asks it): %w", err)
	}
	e.direct = direct(runtime.GOOS, said)
	if _, err := e.run(ctx, findBound, "image", "inspect", "--format", "{{.Id}}", image); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !strings.Contains(strings.ToLower(err.Error()), "no such image") {
			return nil, fmt.Errorf("looking for the image %s: %w", image, err)
		}
		return nil, fmt.Errorf("the image %s is not there: docker pull %[1]s fetches it; make image builds %s without a registry", image, LocalImage)
	}
	return e, nil
}

// find looks for the docker command alone.
func find() (*Engine, error) {
	program, err := exec.LookPath("docker")
	if err != nil {
		return nil, errors.New("there is no docker command to start containers with: see https://docs.docker.com/engine/install/")
	}
	return &Engine{program: program}, nil
}

// direct says whether the containers' own addresses can be reached: not where
// they are in a virtual machine, or in a network of the engine's own.
func direct(system, info string) bool {
	return system == "linux" && !strings.Contains(info, "Docker Desktop") && !strings.Contains(info, "name=rootless")
}

// run runs docker with the arguments and gives its output. It is not ended when
// ctx is cancelled, but after the bound or at the deadline of ctx: an engine goes
// on with what it has been told, and what it makes has to be known to be removed.
func (e *Engine) run(ctx context.Context, bound time.Duration, args ...string) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if end, ok := ctx.Deadline(); ok {
		bound = min(bound, time.Until(end))
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), bound)
	defer cancel()
	cmd := exec.CommandContext(bounded, e.program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	ownGroup(cmd)
	err := cmd.Run()
	switch {
	case err == nil:
		return strings.TrimSpace(stdout.String()), nil
	case bounded.Err() != nil:
		return "", fmt.Errorf("docker %s took more than %v", args[0], bound.Round(time.Millisecond))
	case stderr.Len() > 0:
		return "", errors.New(reason(stderr.String()))
	default:
		return "", fmt.Errorf("docker %s: %w", args[0], err)
	}
}

// reason is what docker has said went wrong: its first line, without the words
// that every such line begins with.
func reason(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	for _, lead := range []string{"docker: ", "Error response from daemon: ", "Error: "} {
		line = strings.TrimPrefix(line, lead)
	}
	return strings.TrimSuffix(strings.TrimSpace(line), ".")
}
