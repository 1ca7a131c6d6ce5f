package lease

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

// newStore makes a store and a function that sets its clock.
func newStore(t *testing.T) (s *Store, setClock func(ms int64)) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "documents.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if s, err = NewStore(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), "page", "old"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE clock (ms INTEGER)`); err != nil {
		t.Fatal(err)
	}
	s.now = `(SELECT max(ms) FROM clock)`
	setClock = func(ms int64) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), `INSERT INTO clock VALUES (?)`, ms); err != nil {
			t.Fatal(err)
		}
	}
	setClock(1000)
	return s, setClock
}

func TestWriterThatWasPausedChangesNothing(t *testing.T) {
	s, setClock := newStore(t)
	first, err := s.Lease(t.Context(), "page", "first", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lease(t.Context(), "page", "second", time.Second); !errors.Is(err, ErrLeased) {
		t.Fatalf("while it is leased: %v, want ErrLeased", err)
	}
	setClock(2000) // the first writer is paused past its lease
	second, err := s.Lease(t.Context(), "page", "second", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(t.Context(), "page", "first's", first); !errors.Is(err, ErrChanged) {
		t.Errorf("a late write: %v, want ErrChanged", err)
	}
	if _, err := s.Write(t.Context(), "page", "second's", second); err != nil {
		t.Error(err)
	}
	if body, _, err := s.Read(t.Context(), "page"); body != "second's" || err != nil {
		t.Errorf("%q, %v", body, err)
	}
}

// The version also protects writers without a lease.
func TestCompareAndSwapWithoutALease(t *testing.T) {
	s, _ := newStore(t)
	_, version, err := s.Read(t.Context(), "page")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(t.Context(), "page", "one", version); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(t.Context(), "page", "two", version); !errors.Is(err, ErrChanged) {
		t.Errorf("a write of what was read before another's: %v, want ErrChanged", err)
	}
}

func TestWritingEndsTheLease(t *testing.T) {
	s, _ := newStore(t)
	version, err := s.Lease(t.Context(), "page", "first", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(t.Context(), "page", "done", version); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lease(t.Context(), "page", "second", time.Hour); err != nil {
		t.Errorf("after the write: %v", err)
	}
}

// The clock of a real store returns the time.
func TestStorageClock(t *testing.T) {
	s, _ := newStore(t)
	var ms int64
	if err := s.db.QueryRowContext(t.Context(), `SELECT `+storageClock).Scan(&ms); err != nil {
		t.Fatal(err)
	}
	if ms < time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() {
		t.Errorf("the storage's clock says %v", time.UnixMilli(ms))
	}
}

func TestMissingDocument(t *testing.T) {
	s, _ := newStore(t)
	if _, err := s.Write(t.Context(), "none", "x", 1); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("Write: %v, want sql.ErrNoRows", err)
	}
	if _, err := s.Lease(t.Context(), "none", "first", time.Second); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("Lease: %v, want sql.ErrNoRows", err)
	}
}
