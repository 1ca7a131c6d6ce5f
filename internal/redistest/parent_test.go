package redistest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// parentVariable turns the test binary into a process that launches servers and
// waits to be killed.
const parentVariable = "REDISTEST_PARENT"

// parentMain launches a running and a frozen server, prints their process ids as
// JSON and waits until its standard input ends.
func parentMain() int {
	c, err := LaunchN(context.Background(), 2, Config{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = c.Close() }()
	if err := c.Masters[1].Freeze(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode([]int{c.Masters[0].PID(), c.Masters[1].PID()}); err != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}
