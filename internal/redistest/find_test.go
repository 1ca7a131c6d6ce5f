package redistest

import (
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

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
