package demo

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redquorum/redquorum/internal/simmaster"
	"github.com/redquorum/redquorum/internal/testutil"
	"github.com/redquorum/redquorum/redlock"
)

// TestMain fails the run when goroutines are left behind.
func TestMain(m *testing.M) {
	// Masters are broken on purpose: their clients' warnings would bury the results.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(testutil.RunClean(m.Run, 5*time.Second))
}

// fast returns options of a run of about two seconds. The TTL is long so that masters have 250 ms
// to answer on a busy machine. Without the guard, masters vote right after a restart.
func fast() Options {
	return Options{
		TTL: 5 * time.Second, client: []redlock.Option{redlock.WithGuard(redlock.GuardOff)},
		Buyers: 8, Stock: 20, Version: "v0",
		watch: 150 * time.Millisecond, patience: 20 * time.Second,
		refusal: 10 * time.Second, ready: time.Minute, // on a busy machine
	}
}

// An inside cluster is one of embedded masters.
type inside struct {
	Cluster
	Masters []*simmaster.Master
}

// masters starts embedded masters that are closed with the test.
func masters(t *testing.T, n int) *inside {
	t.Helper()
	c, err := embedded(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	e := &inside{Cluster: c}
	for _, m := range c.Servers {
		e.Masters = append(e.Masters, m.(inProcess).sim)
	}
	return e
}

// shown runs the demonstration with the options, and returns its result and output.
func shown(t *testing.T, c Cluster, o Options) (*Result, string, error) {
	t.Helper()
	var out buffer
	o.Screen = NewScreen(&out, false, false, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	o.Cluster = c
	res, err := Run(ctx, o)
	return res, out.String(), err
}

// expectation finds one by the beginning of its name.
func expectation(t *testing.T, res *Result, name string) Expectation {
	t.Helper()
	for _, e := range res.Expectations {
		if strings.HasPrefix(e.Name, name) {
			return e
		}
	}
	t.Fatalf("no expectation %q in %+v", name, res.Expectations)
	return Expectation{}
}

// wantFailed checks that exactly the named expectations failed.
func wantFailed(t *testing.T, res *Result, names ...string) {
	t.Helper()
	for _, name := range names {
		if e := expectation(t, res, name); e.OK {
			t.Errorf("expectation %q held: %s", e.Name, e.Detail)
		}
	}
	if res.Failed() != len(names) {
		t.Errorf("failed expectations: %d, want %d of %+v", res.Failed(), len(names), res.Expectations)
	}
	if res.Verdict != VerdictFailed {
		t.Errorf("verdict %q, want %q", res.Verdict, VerdictFailed)
	}
}

// A buffer is safe for concurrent use.
type buffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// A fakeClient is a real client with a Do and a Close that a test may replace.
type fakeClient struct {
	Client
	do    func(ctx context.Context, key string, fn func(context.Context) error) error
	close func()
}

func (c *fakeClient) Do(ctx context.Context, key string, fn func(context.Context) error, opts ...redlock.LockOption) error {
	if c.do == nil {
		return c.Client.Do(ctx, key, fn, opts...)
	}
	return c.do(ctx, key, fn)
}

func (c *fakeClient) Close() error {
	if c.close != nil {
		c.close()
	}
	return c.Client.Close()
}

// openAs opens real clients and lets f change them.
func openAs(f func(c *fakeClient)) func([]string, ...redlock.Option) (Client, error) {
	return func(urls []string, opts ...redlock.Option) (Client, error) {
		c, err := open(urls, opts...)
		if err != nil {
			return nil, err
		}
		fake := &fakeClient{Client: c}
		f(fake)
		return fake, nil
	}
}
