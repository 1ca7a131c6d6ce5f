// Package container runs Redis masters in containers for tests, through a Docker
// engine: each at an address of its own on a private network, so that they can be
// paused and cut off as well as killed.
package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
)

const (
	imageVariable = "REDIS_IMAGE"
	officialImage = "redis:7.4-alpine"
	localImage    = "redquorum/redis:local" // of `make image`

	engineBound = 30 * time.Second // one request to the engine
	pingBound   = 5 * time.Second  // the first one
	pullBound   = time.Minute
	settleBound = 20 * time.Second // what the engine takes to do something
)

// An Engine is the Docker engine, and the image of Redis to use on it.
type Engine struct {
	Image string
	pool  *dockertest.Pool
}

// Find looks for the engine and an image, once a process: it takes at most a
// minute, to pull the image. The errors are reasons to skip a test.
func Find() (*Engine, error) { return find() }

var find = sync.OnceValues(func() (*Engine, error) {
	if runtime.GOOS != "linux" {
		// Elsewhere containers run inside a virtual machine.
		return nil, fmt.Errorf("the addresses of containers cannot be reached on %s", runtime.GOOS)
	}
	pool, err := dockertest.NewPool("")
	if err != nil {
		return nil, fmt.Errorf("no Docker engine: %w", err)
	}
	pool.Client.SetTimeout(engineBound)
	// NewPool does not check that there is an engine.
	ctx, cancel := context.WithTimeout(context.Background(), pingBound)
	defer cancel()
	if err := pool.Client.PingWithContext(ctx); err != nil {
		return nil, fmt.Errorf("no Docker engine answers: %w", err)
	}
	e := &Engine{pool: pool}
	if err := e.chooseImage(); err != nil {
		return nil, err
	}
	if err := e.remove(func(_, run string) bool { return stale(run) }); err != nil {
		return nil, fmt.Errorf("what an earlier run left cannot be removed: %w", err)
	}
	return e, nil
})

// chooseImage takes the image that REDIS_IMAGE names. Without that it takes the official one or
// that of `make image`, whichever is there already, or pulls the official one.
func (e *Engine) chooseImage() error {
	if image := os.Getenv(imageVariable); image != "" {
		e.Image = image
		if e.there(image) {
			return nil
		}
		return e.pull(image)
	}
	for _, image := range []string{officialImage, localImage} {
		if e.there(image) {
			e.Image = image
			return nil
		}
	}
	e.Image = officialImage
	if err := e.pull(officialImage); err != nil {
		return fmt.Errorf("%w; `make image` makes %s without a registry", err, localImage)
	}
	return nil
}

func (e *Engine) there(image string) bool {
	_, err := e.pool.Client.InspectImage(image)
	return err == nil
}

func (e *Engine) pull(image string) error {
	ctx, cancel := context.WithTimeout(context.Background(), pullBound)
	defer cancel()
	repository, tag := image, "latest"
	// The last colon begins the tag, unless a registry's port follows it.
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		repository, tag = image[:i], image[i+1:]
	}
	pull := docker.PullImageOptions{Repository: repository, Tag: tag, Context: ctx}
	err := e.pool.Client.PullImage(pull, docker.AuthConfiguration{})
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("not within %v", pullBound)
	}
	if err != nil {
		return fmt.Errorf("the image %s is not there and cannot be pulled: %w", image, err)
	}
	return nil
}
