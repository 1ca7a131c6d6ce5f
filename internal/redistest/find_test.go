package redistest

import (
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindReturnsPathAndVersion(t *testing.T) {
	script(t, `echo "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64"`)
	path, version, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(path) || version != "7.0.15" {
		t.Errorf("Find() = %q, %q; want an absolute path and 7.0.15", path, version)
	}
	if err := Available(); err != nil {
		t.Error(err)
	}
}

func TestFindNamesTheInstalledServer(t *testing.T) {
	needRedis(t)
	path, version, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("redis-server %s at %s", version, path)
	s := start(t, Config{})
	if info := do(t, s, "INFO", "server"); !strings.Contains(string(info.([]byte)), "_version:"+version+"\r\n") {
		t.Errorf("Find says version %s; the server says\n%s", version, info)
	}
}

func TestAMissingBinaryGivesAClearError(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "no-such-redis")
	t.Setenv(ServerVariable, missing)
	for name, call := range map[string]func() error{
		"Available": Available,
		"Launch": func() error {
			_, err := Launch(t.Context(), Config{})
			return err
		},
	} {
		err := call()
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) || !strings.Contains(err.Error(), ServerVariable) {
			t.Errorf("%s: %v; want an error that names %s and %s", name, err, missing, ServerVariable)
		}
	}
	t.Setenv(ServerVariable, "")
	t.Setenv("PATH", t.TempDir())
	if err := Available(); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "PATH") {
		t.Errorf("with an empty PATH: %v", err)
	}
}

func TestABinaryThatIsNotRedisIsRefused(t *testing.T) {
	script(t, "echo hello")
	if err := Available(); err == nil || !strings.Contains(err.Error(), `"hello"`) {
		t.Errorf("a binary without a version: %v", err)
	}
	script(t, "echo broken >&2; exit 3")
	if err := Available(); err == nil || !strings.Contains(err.Error(), "broken") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("a binary that fails: %v", err)
	}
}
