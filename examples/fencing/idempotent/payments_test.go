package idempotent

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	_ "modernc.org/sqlite"
)

func newTable(t *testing.T) *Table {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "operations.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	table, err := NewTable(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestEachPaymentIsSentOnce(t *testing.T) {
	table := newTable(t)
	var sent atomic.Int32
	pay := func(context.Context) (string, error) {
		sent.Add(1)
		return "receipt 1", nil
	}
	var wg sync.WaitGroup
	for i := range 8 { // each believes that it holds the lock
		wg.Go(func() {
			result, err := table.Once(t.Context(), "invoice 17", uint64(i+1), pay)
			if err == nil && result != "receipt 1" || err != nil && !errors.Is(err, ErrInDoubt) {
				t.Errorf("Once: %q, %v; want the receipt or ErrInDoubt", result, err)
			}
		})
	}
	wg.Wait()
	if n := sent.Load(); n != 1 {
		t.Errorf("sent %d times", n)
	}
	if result, err := table.Once(t.Context(), "invoice 17", 99, pay); result != "receipt 1" || err != nil {
		t.Errorf("afterwards: %q, %v; want the receipt", result, err)
	}
}

func TestCrashLeavesADoubt(t *testing.T) {
	table := newTable(t)
	func() {
		defer func() { _ = recover() }()
		_, _ = table.Once(t.Context(), "invoice 17", 1, func(context.Context) (string, error) { panic("crash") })
	}()
	_, err := table.Once(t.Context(), "invoice 17", 2, func(context.Context) (string, error) {
		t.Error("sent again though nobody knows whether it was sent")
		return "", nil
	})
	if !errors.Is(err, ErrInDoubt) {
		t.Errorf("%v, want ErrInDoubt", err)
	}
}

func TestFailureIsForgotten(t *testing.T) {
	table := newTable(t)
	refused := errors.New("refused")
	if _, err := table.Once(t.Context(), "invoice 17", 1, func(context.Context) (string, error) { return "", refused }); !errors.Is(err, refused) {
		t.Fatalf("%v, want what the operation returned", err)
	}
	result, err := table.Once(t.Context(), "invoice 17", 2, func(context.Context) (string, error) { return "receipt", nil })
	if result != "receipt" || err != nil {
		t.Errorf("second time: %q, %v", result, err)
	}
}

// The result is recorded although the caller's context ends before the payment is made.
func TestResultIsRecordedAfterTheContextEnds(t *testing.T) {
	table := newTable(t)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := table.Once(ctx, "invoice 17", 1, func(context.Context) (string, error) {
		cancel()
		return "receipt", nil
	}); err != nil {
		t.Fatal(err)
	}
	result, err := table.Once(t.Context(), "invoice 17", 2, func(context.Context) (string, error) { return "twice", nil })
	if result != "receipt" || err != nil {
		t.Errorf("%q, %v; want the recorded receipt", result, err)
	}
}
