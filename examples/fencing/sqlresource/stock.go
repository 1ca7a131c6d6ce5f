// Package sqlresource keeps a stock in a SQL database. It rejects former holders
// of the lock by their fencing tokens.
//
// The database remembers the highest token that it has seen. A holder claims the
// item before it reads, and the statement that writes checks the claim. A holder
// that was paused for longer than its lease, and wakes up after the next holder
// has claimed, changes nothing. The database enforces it, so no clock and no pause
// of a client matters.
package sqlresource

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
)

// ErrStale is returned to a former holder, after a later holder has claimed the
// item. Nothing was changed. The former holder should stop its work under the lock.
var ErrStale = errors.New("a later holder of the lock has claimed the item")

// A Holder holds the lock: it is a *redlock.Lock acquired with redlock.WithFencing.
type Holder interface {
	Fence() uint64 // rises from holder to holder
	Token() string // differs for each holder
}

// A Stock is a table of items. It is safe for concurrent use, also by several
// processes on one database.
type Stock struct{ db *sql.DB }

// NewStock makes the table if it is missing. The caller still owns the database.
func NewStock(ctx context.Context, db *sql.DB) (*Stock, error) {
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS stock (
		item  TEXT PRIMARY KEY,
		count INTEGER NOT NULL,
		fence INTEGER NOT NULL DEFAULT 0,
		owner TEXT NOT NULL DEFAULT '')`)
	if err != nil {
		return nil, fmt.Errorf("stock: create table: %w", err)
	}
	return &Stock{db}, nil
}

// Put creates an item, or sets its count without any check of holders. It is for setup.
func (s *Stock) Put(ctx context.Context, item string, count int) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO stock (item, count) VALUES (?, ?)
		ON CONFLICT (item) DO UPDATE SET count = excluded.count`, item, count)
	if err != nil {
		return fmt.Errorf("stock: put %q: %w", item, err)
	}
	return nil
}

// Claim makes h the current holder of the item and returns the item's count. It stores the
// token before the count is read: otherwise a late write of a former holder could change the
// item after this holder has read it.
func (s *Stock) Claim(ctx context.Context, item string, h Holder) (count int, err error) {
	fence, err := fenceOf(h)
	if err != nil {
		return 0, fmt.Errorf("stock: claim %q: %w", item, err)
	}
	// One statement is one transaction.
	err = s.db.QueryRowContext(ctx, `UPDATE stock SET fence = ?1, owner = ?2
		WHERE item = ?3 AND (fence < ?1 OR fence = ?1 AND owner = ?2)
		RETURNING count`, fence, h.Token(), item).Scan(&count)
	return count, s.explain(ctx, "claim", item, err)
}

// Write sets the count of an item that the holder has claimed.
func (s *Stock) Write(ctx context.Context, item string, count int, h Holder) error {
	fence, err := fenceOf(h)
	if err != nil {
		return fmt.Errorf("stock: write %q: %w", item, err)
	}
	var written int
	err = s.db.QueryRowContext(ctx, `UPDATE stock SET count = ?1
		WHERE item = ?2 AND fence = ?3 AND owner = ?4
		RETURNING 1`, count, item, fence, h.Token()).Scan(&written)
	return s.explain(ctx, "write", item, err)
}

// Count reads the count without a claim.
func (s *Stock) Count(ctx context.Context, item string) (count int, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT count FROM stock WHERE item = ?`, item).Scan(&count)
	if err != nil {
		return 0, fmt.Errorf("stock: read %q: %w", item, err)
	}
	return count, nil
}

// explain distinguishes a refused holder from an item that does not exist.
func (s *Stock) explain(ctx context.Context, op, item string, err error) error {
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("stock: %s %q: %w", op, item, err)
	}
	if _, err := s.Count(ctx, item); err != nil {
		return err
	}
	return fmt.Errorf("stock: %s %q: %w", op, item, ErrStale)
}

// fenceOf is the holder's fencing token as a number of SQL. A lock without a token is
// an error: it would never be accepted, and it would keep nobody out.
func fenceOf(h Holder) (int64, error) {
	fence := h.Fence()
	if fence == 0 || fence > math.MaxInt64 {
		return 0, fmt.Errorf("fencing token %d: want 1 to %d: acquire the lock with redlock.WithFencing",
			fence, uint64(math.MaxInt64))
	}
	return int64(fence), nil
}
