package redsync_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/redquorum/redquorum/internal/redistest"
)

// A program for redsync with go-redis compiles and passes before and after a change of its
// import paths alone. After the change it also passes on plain miniredis, on which the tests
// of other programs run.
func TestProgramWorksAfterImportPathsAreReplaced(t *testing.T) {
	before := filepath.Join(t.TempDir(), "before")
	buildProgram(t, before, nil)
	after := filepath.Join(t.TempDir(), "after")
	buildProgram(t, after, moved)

	authority, err := redistest.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	const password = "p@:/ss"
	type server struct {
		Addr, Password, CA string
		DB                 int
	}
	for name, test := range map[string]struct {
		masters int
		config  redistest.Config
		also    server
	}{
		"five masters": {5, redistest.Config{}, server{}},
		"one with a password, TLS and a database": {
			1, redistest.Config{Password: password, TLS: authority}, server{Password: password, CA: string(authority.PEM()), DB: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, program := range []string{before, after} {
				var servers []server
				for _, s := range redistest.Start(t, test.masters, test.config).Masters {
					test.also.Addr = s.Addr()
					servers = append(servers, test.also)
				}
				runProgram(t, program, servers)
			}
		})
	}
	for _, n := range []int{1, 5} {
		var servers []server
		for range n {
			servers = append(servers, server{Addr: miniredis.RunT(t).Addr()})
		}
		runProgram(t, after, servers)
	}
}

var moved = strings.NewReplacer(`"github.com/go-redsync/redsync/v4`, `"github.com/redquorum/redquorum/contrib/redsync`)

func runProgram(t *testing.T, program string, servers any) {
	t.Helper()
	text, err := json.Marshal(servers)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), "SERVERS="+string(text))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "the program works\n") {
		t.Errorf("%s: %v\n%s", filepath.Base(program), err, out)
	}
}

// buildProgram builds the program of testdata, changed by replace unless that is nil.
func buildProgram(t *testing.T, target string, replace *strings.Replacer) {
	t.Helper()
	args := []string{"build", "-o", target}
	if raceDetectorRuns() {
		args = append(args, "-race")
	}
	if replace != nil {
		changed := make(map[string]string)
		for _, name := range []string{"main.go", "locker/locker.go"} {
			original, err := filepath.Abs(filepath.Join("testdata", "program", name))
			if err != nil {
				t.Fatal(err)
			}
			source, err := os.ReadFile(original)
			if err != nil {
				t.Fatal(err)
			}
			changed[original] = filepath.Join(t.TempDir(), filepath.Base(name))
			if err := os.WriteFile(changed[original], []byte(replace.Replace(string(source))), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args = append(args, "-overlay", writeOverlay(t, changed))
	}
	if out, err := exec.CommandContext(t.Context(), "go", append(args, "./testdata/program")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
