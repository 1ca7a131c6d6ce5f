// Package testutil has what tests of several rooms of the commands share.
package testutil

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/simmaster"
	"github.com/redquorum/redquorum/internal/testutil"
	"github.com/redquorum/redquorum/redlock"
)

// Cluster starts masters that belong to the test and not to the binary.
func Cluster(t *testing.T, n int) *simmaster.Cluster {
	t.Helper()
	c, err := simmaster.StartCluster(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func List(c *simmaster.Cluster) string { return strings.Join(c.URLs(), ",") }

// Opened opens a client of masters that all run, and waits until it has seen them. The test closes it.
func Opened(t *testing.T, masters interface{ URLs() []string }, opts ...redlock.Option) *redlock.Client {
	t.Helper()
	client, err := redlock.Open(masters.URLs(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	Eventually(t, "the client has seen all masters", func() bool {
		return !slices.ContainsFunc(client.Masters(), func(m redlock.MasterReport) bool {
			return !m.Connected || m.Why != nil && (m.Why.Cause == guard.NotConnected || m.Why.Cause == guard.Unmarked)
		})
	})
	return client
}

// File writes a file for a command to read.
func File(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Parse reads one document in JSON, and nothing else.
func Parse[T any](t *testing.T, text string) (d T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return d
}

// Those of internal/testutil, for tests that import this one.
var (
	Eventually  = testutil.Eventually
	HeedSignals = testutil.HeedSignals
)

// WantOneLine checks that an error is fit for a terminal: it quotes what was typed, or leaves
// it out.
func WantOneLine(t *testing.T, err error) {
	t.Helper()
	if text := err.Error(); strings.ContainsFunc(text, unicode.IsControl) {
		t.Errorf("%q is not one line", text)
	}
}
