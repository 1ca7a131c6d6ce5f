package redistest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// ServerVariable is the environment variable that names the redis-server binary,
// as a path or as a name to look up on the PATH. When it is unset or empty,
// redis-server is looked up on the PATH.
const ServerVariable = "REDIS_SERVER"

// Find returns the absolute path of the redis-server binary and its version, for
// example "7.0.15". It runs the binary once with --version, for at most 5 s. The
// error says where it looked and how to name another binary.
func Find() (path, version string, err error) {
	path, err = lookUp()
	if err != nil {
		return "", "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	// A child of the binary that keeps its output open must not extend the wait beyond the bound.
	cmd.WaitDelay = versionBound
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", "", fmt.Errorf("redistest: %s --version: %w: %s", path, err, strings.TrimSpace(string(out)))
	}
	version, err = parseVersion(string(out))
	if err != nil {
		return "", "", fmt.Errorf("redistest: %s --version: %w", path, err)
	}
	return path, version, nil
}

// Available returns nil if a redis-server can be run on this machine, and the
// error of [Find] otherwise.
func Available() error {
	_, _, err := Find()
	return err
}

// lookUp resolves the binary without running it.
func lookUp() (string, error) {
	name, origin := os.Getenv(ServerVariable), ServerVariable
	if name == "" {
		name, origin = "redis-server", "PATH"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("redistest: no redis-server (looked for %q, by %s): %w; "+
			"install Redis or set %s to the binary", name, origin, err, ServerVariable)
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("redistest: redis-server %q: %w", name, err)
	}
	return path, nil
}

// "Redis server v=7.0.15 sha=…" (its forks print the same with another name).
var versionPattern = regexp.MustCompile(`\bv=(\d+(?:\.\d+)*)`)

func parseVersion(out string) (string, error) {
	m := versionPattern.FindStringSubmatch(out)
	if m == nil {
		return "", fmt.Errorf("no version (v=…) in its output %q", strings.TrimSpace(out))
	}
	return m[1], nil
}
