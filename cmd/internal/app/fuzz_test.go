package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/testutil"
)

// FuzzFlagValues sets every kind of flag to any text.
func FuzzFlagValues(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		n, lasts := -1, time.Duration(-1)
		for _, flag := range []struct {
			set   func(string) error
			right func() bool // after the text was accepted
			same  func() bool // after it was rejected
		}{
			{NumberFlag(&n, 2, 9).Set, func() bool { return 2 <= n && n <= 9 }, func() bool { return n == -1 }},
			{
				OrZero(RangeFlag(&lasts, time.Millisecond, time.Minute)).Set,
				func() bool { return lasts == 0 || time.Millisecond <= lasts && lasts <= time.Minute }, func() bool { return lasts == -1 },
			},
		} {
			switch err := flag.set(text); {
			case err == nil && !flag.right():
				t.Errorf("%q is taken, and out of range", text)
			case err != nil && !flag.same():
				t.Errorf("%q is refused, and was set", text)
			case err != nil:
				testutil.WantOneLine(t, err)
			}
		}
	})
}

// FuzzMasterURLs reads a list of masters, from the flag and from the environment.
func FuzzMasterURLs(f *testing.F) {
	f.Fuzz(func(t *testing.T, list string, changed bool) {
		shared, cmd := &SharedFlags{}, &cobra.Command{}
		shared.Register(cmd, "masters")
		if changed {
			if err := cmd.Flags().Set("masters", list); err != nil {
				t.Fatal(err)
			}
		}
		urls, err := shared.NamedMasters(cmd, &App{Env: func(string) string { return list }})
		if err != nil {
			testutil.WantOneLine(t, err)
			return
		}
		if urls == nil {
			t.Errorf("%q names no masters, and is no error", list)
		}
		for _, url := range urls {
			if url == "" || strings.TrimSpace(url) != url || strings.Contains(url, ",") || !strings.Contains(list, url) {
				t.Errorf("%q names %q", list, url)
			}
		}
	})
}

// FuzzPasswordFile reads a password, or says what is wrong without repeating it.
func FuzzPasswordFile(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte) {
		name := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		password, err := readPassword(t.Context(), name)
		if err != nil {
			if secret := strings.Trim(string(text), "\r\n"); len(secret) > 8 && strings.Contains(err.Error(), secret[:8]) {
				t.Errorf("%q repeats %q", err, secret)
			}
			testutil.WantOneLine(t, err)
			return
		}
		if password == "" || len(password) > maxPassword || strings.ContainsAny(password, "\r\n") || !strings.HasPrefix(string(text), password) {
			t.Errorf("%q is read as %q", text, password)
		}
	})
}
