//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
	"github.com/redquorum/redquorum/redlock"
)

// The commands of the page run in its order, and programs of all its steps at the same time. Those
// that lock both fleets exclude those that know only the old masters, or only the new ones.
func TestMastersAreChangedAsThePageSays(t *testing.T) {
	t.Parallel()
	before := redistest.Start(t, 3, redistest.Config{
		ACL:      []string{"user default on >admin ~* &* +@all", "user was on >secret ~* &* +@all"},
		Username: "was", Password: "secret",
	})
	_, after := processes(t, 3, redistest.Config{})
	run := pageOfMasters(t, before, after)

	first := openAt(t, before.URLs())
	run("redlock init --masters") // before any client, which would declare the new masters itself
	alone := openAt(t, strings.Split(after, ","))
	run("ACL SETUSER both")
	asBoth := strings.Split(strings.ReplaceAll(addresses(before), "was:secret@", "both:PASSWORD@"), ",")
	old, next := openAt(t, asBoth), openAt(t, strings.Split(after, ","))
	inBoth := func(fn func(ctx context.Context)) (err error) {
		inOld := old.TryDo(t.Context(), "report", func(ctx context.Context) error {
			err = next.TryDo(ctx, "report", func(ctx context.Context) error { fn(ctx); return nil })
			return nil
		})
		return errors.Join(inOld, err)
	}
	for name, other := range map[string]*redlock.Client{"the old masters": first, "the new masters": alone} {
		held, err := other.Lock(t.Context(), "report")
		if err != nil {
			t.Fatal(err)
		}
		if err := inBoth(func(context.Context) {}); !errors.Is(err, redlock.ErrTaken) {
			t.Errorf("held on %s, and taken in both: %v", name, err)
		}
		if err := held.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		err = inBoth(func(ctx context.Context) {
			if _, err := other.TryLock(ctx, "report"); !errors.Is(err, redlock.ErrTaken) {
				t.Errorf("held in both, and taken on %s: %v", name, err)
			}
		})
		if err != nil {
			t.Errorf("free, and taken in both: %v", err)
		}
	}
	run("redlock exec --config old.conf")

	run("ACL SETUSER was off")
	for name, client := range map[string]*redlock.Client{"runs": first, "starts": openAt(t, before.URLs())} {
		if _, err := client.TryLock(t.Context(), "report"); !errors.Is(err, redlock.ErrNoQuorum) {
			t.Errorf("a program that was forgotten, and %s: %v", name, err)
		}
	}
	if err := inBoth(func(context.Context) {}); err != nil {
		t.Errorf("taken in both after that: %v", err)
	}
	run("redlock init --force")
}

// pageOfMasters returns a function that runs the block of the page with the text in it, on these
// masters. No command of the block may fail.
func pageOfMasters(t *testing.T, before *redistest.Cluster, after string) (run func(text string)) {
	t.Helper()
	dir, old := t.TempDir(), strings.ReplaceAll(addresses(before), "was:secret@", "both:PASSWORD@")
	for name, masters := range map[string]string{"old.conf": old, "new.conf": after} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("masters = "+masters+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hosts := regexp.MustCompile(`redis://[^@]*@`).ReplaceAllString(addresses(before), "")
	own := strings.NewReplacer(
		"redis://d,redis://e,redis://f", after,
		"in a b c;", "in "+strings.ReplaceAll(hosts, ",", " ")+";",
		"make report", "touch reported",
	)
	env := []string{"PATH=" + filepath.Dir(binary) + ":" + os.Getenv("PATH"), "HOME=" + dir, "REDISCLI_AUTH=admin"}
	all := blocks(t, filepath.Join("..", "..", "docs", "how-to", "more-than-one-fleet.md"))
	return func(text string) {
		t.Helper()
		for _, b := range all {
			if b.lang != "sh" || !strings.Contains(b.text, text) {
				continue
			}
			out, errs, err := bash(t, dir, env, "set -e\n"+own.Replace(b.text))
			if err != nil || strings.Contains(out, "ERR") || strings.Contains(errs, "WRONGPASS") {
				t.Fatalf("%s:%d: %v\n%s\n%s", b.page, b.line, err, out, errs)
			}
			return
		}
		t.Fatalf("no block has %q", text)
	}
}

func openAt(t *testing.T, urls []string) *redlock.Client {
	t.Helper()
	client, err := redlock.Open(urls)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}
