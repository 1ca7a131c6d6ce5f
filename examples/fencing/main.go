// Command fencing pauses a holder of a lock for longer than its lease, between its last
// look at the lock and its write. It shows what that does to a stock in a SQL database.
// Without fencing tokens an item is sold and lost. With them the late write is refused.
//
//	go run .
//	REDLOCK_MASTERS=redis://127.0.0.1:7101,redis://127.0.0.1:7102,… go run .
//
// Without REDLOCK_MASTERS it uses five masters inside the program.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/redquorum/redquorum/examples/fencing/sqlresource"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/redlocktest"
)

const (
	item   = "bolt"
	before = 10 // bolts in stock
	lease  = 300 * time.Millisecond
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, os.Getenv("REDLOCK_MASTERS"))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fencing:", err)
		os.Exit(1)
	}
}

// run tells both stories. masters are URLs separated by commas; if it is empty, run
// uses embedded masters.
func run(ctx context.Context, out io.Writer, masters string, opts ...redlock.Option) error {
	urls := strings.Split(masters, ",")
	if masters == "" {
		embedded, stop, err := redlocktest.Run(5)
		if err != nil {
			return err
		}
		defer stop()
		urls = embedded
	}
	client, err := redlock.Open(urls, opts...)
	if err != nil {
		return err
	}
	defer client.Close()

	dir, err := os.MkdirTemp("", "fencing")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sql.Open("sqlite", filepath.Join(dir, "stock.db"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	stock, err := sqlresource.NewStock(ctx, db)
	if err != nil {
		return err
	}
	for _, story := range []story{trusting, fenced} {
		if err := story.play(ctx, out, client, stock); err != nil {
			return err
		}
	}
	return nil
}

// A story is one way to read the stock and to write it back.
type story struct {
	title string
	read  func(ctx context.Context, s *sqlresource.Stock, l *redlock.Lock) (int, error)
	write func(ctx context.Context, s *sqlresource.Stock, count int, l *redlock.Lock) error
}

var trusting = story{
	title: "without tokens",
	read: func(ctx context.Context, s *sqlresource.Stock, _ *redlock.Lock) (int, error) {
		return s.Count(ctx, item)
	},
	write: func(ctx context.Context, s *sqlresource.Stock, count int, _ *redlock.Lock) error {
		return s.Put(ctx, item, count)
	},
}

var fenced = story{
	title: "with tokens",
	read: func(ctx context.Context, s *sqlresource.Stock, l *redlock.Lock) (int, error) {
		return s.Claim(ctx, item, l)
	},
	write: func(ctx context.Context, s *sqlresource.Stock, count int, l *redlock.Lock) error {
		return s.Write(ctx, item, count, l)
	},
}

// play lets two holders sell one item each. The first holder is paused.
func (t story) play(ctx context.Context, out io.Writer, client *redlock.Client, stock *sqlresource.Stock) error {
	if err := stock.Put(ctx, item, before); err != nil {
		return err
	}
	first, err := client.Lock(ctx, item, redlock.WithLease(lease), redlock.WithFencing())
	if err != nil {
		return err
	}
	seen, err := t.read(ctx, stock, first)
	if err != nil {
		return err
	}
	// The first holder has checked first.Context() for the last time. It is paused here, by the
	// garbage collector, the hypervisor or a closed laptop. Meanwhile:
	second, err := client.Lock(ctx, item, redlock.WithFencing())
	if err != nil {
		return err
	}
	sold := 0
	sell := func(which string, l *redlock.Lock, seen int) error {
		switch err := t.write(ctx, stock, seen-1, l); {
		case errors.Is(err, sqlresource.ErrStale):
			fmt.Fprintf(out, "%s: the %s holder is refused: %v\n", t.title, which, err)
		case err != nil:
			return err
		default:
			sold++
		}
		return nil
	}
	count, err := t.read(ctx, stock, second)
	if err != nil {
		return err
	}
	if err := sell("second", second, count); err != nil {
		return err
	}
	if err := second.Unlock(ctx); err != nil {
		return err
	}
	// The first holder wakes up and continues where it was.
	if err := sell("first", first, seen); err != nil {
		return err
	}
	left, err := stock.Count(ctx, item)
	if err != nil {
		return err
	}
	verdict := "as it should be"
	if sold+left != before {
		verdict = fmt.Sprintf("%d too many in the books", sold+left-before)
	}
	fmt.Fprintf(out, "%s: tokens %d and %d: %d sold, %d of %d left: %s\n",
		t.title, first.Fence(), second.Fence(), sold, left, before, verdict)
	return nil
}
