//go:build !linux

package bench

import (
	"context"
	"errors"
	"os/exec"
	"time"
)

const lineAddress = "" // only Linux has the device

func inOwnNetwork(*exec.Cmd) {}

func startDistanceLine(context.Context, []time.Duration) (addresses []string, stop func() error, err error) {
	return nil, nil, errors.ErrUnsupported
}

func lineHere(string) error { return errors.ErrUnsupported }
