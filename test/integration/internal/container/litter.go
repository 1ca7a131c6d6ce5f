package container

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ory/dockertest/v3/docker"
)

// Containers and networks outlive the process that made them, so each carries a
// label with the run that it belongs to: when it began, and its process id.
const runLabel = "io.redquorum.integration"

var thisRun = fmt.Sprintf("%d-%d", time.Now().Unix(), os.Getpid())

// stale says whether a run is over that did not clean up: no run of these tests takes an hour.
func stale(run string) bool {
	began, _, _ := strings.Cut(run, "-")
	unix, err := strconv.ParseInt(began, 10, 64)
	return err == nil && time.Since(time.Unix(unix, 0)) > time.Hour
}

// remove removes containers, running or not, and then networks, by their names and runs. It tries
// repeatedly for a while, because the engine may still be busy with some of them.
func (e *Engine) remove(which func(name, run string) bool) error {
	var err error
	for deadline := time.Now().Add(settleBound); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err = e.removeNow(which); err == nil {
			return nil
		}
	}
	return err
}

func (e *Engine) removeNow(which func(name, run string) bool) error {
	client := e.pool.Client
	containers, err := client.ListContainers(docker.ListContainersOptions{
		All: true, Filters: map[string][]string{"label": {runLabel}},
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range containers {
		if len(c.Names) > 0 && which(strings.TrimPrefix(c.Names[0], "/"), c.Labels[runLabel]) {
			removal := docker.RemoveContainerOptions{ID: c.ID, Force: true, RemoveVolumes: true}
			errs = append(errs, client.RemoveContainer(removal))
		}
	}
	networks, err := client.FilteredListNetworks(docker.NetworkFilterOpts{"label": {runLabel: true}})
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, n := range networks {
		if which(n.Name, n.Labels[runLabel]) {
			errs = append(errs, client.RemoveNetwork(n.ID))
		}
	}
	return errors.Join(errs...)
}
