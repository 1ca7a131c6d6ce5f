package bench

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
)

// TestMain prints the versions of what is measured if benchmarks run, as "name: value",
// which benchstat and cmd/report understand.
func TestMain(m *testing.M) {
	// Masters fail on purpose here: their clients' warnings would hide the results.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if role, spec, ok := strings.Cut(os.Getenv(roleVariable), " "); ok {
		if err := roles[role](spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if bench := flag.Lookup("test.bench"); bench != nil && bench.Value.String() != "" {
		printVersions()
	}
	os.Exit(m.Run())
}

// roleVariable tells another process of this binary what to do. It has the name of a role
// and its input in JSON.
const roleVariable = "REDQUORUM_BENCH_ROLE"

var roles = map[string]func(spec string) error{"distance": measureHere, "line": lineHere}

// inRole is a command that runs this binary in a role.
func inRole(ctx context.Context, role string, about any) (*exec.Cmd, error) {
	spec, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, os.Args[0])
	c.Env = append(os.Environ(), roleVariable+"="+role+" "+string(spec))
	return c, nil
}

func printVersions() {
	// If there is no redis-server, the benchmarks report that themselves.
	if _, version, err := redistest.Find(); err == nil {
		fmt.Printf("redis-server: %s\n", version)
	}
	fmt.Printf("go: %s\n", runtime.Version())
	// A test binary does not know its modules' versions (debug.ReadBuildInfo), but it runs
	// in the directory of its package. Here that is the module's directory.
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		fmt.Fprintln(os.Stderr, "versions of the peers are not known:", err)
		return
	}
	names := map[string]string{
		"github.com/go-redsync/redsync/v4": "redsync",
		"github.com/gomodule/redigo":       "redigo",
		"github.com/redis/go-redis/v9":     "go-redis",
		"github.com/bsm/redislock":         "redislock",
		"github.com/redis/rueidis":         "rueidislock",
	}
	for line := range strings.Lines(string(mod)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		if name, ok := names[fields[0]]; ok {
			fmt.Printf("%s: %s\n", name, fields[1])
		}
	}
}
