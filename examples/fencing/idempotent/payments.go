// Package idempotent sends each payment once, through a provider that knows
// nothing of fencing tokens, by a table of what has been sent.
//
// A lock alone cannot do that: its holder may be paused between its last look at
// the lock and the call to the provider, and the next holder sends the payment
// as well. Here the name of the operation is recorded in the database before it
// is sent, and goes with it to the provider: whoever comes second finds it
// recorded. What remains is the crash between the record and the answer, of
// which nobody can tell whether the payment was sent; with a provider that
// itself sends each name once (most payment providers offer such a key), sending
// it again is safe.
package idempotent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ErrInDoubt is the answer for an operation that was begun and of which no
// result is recorded: it is under way elsewhere, or whoever began it has
// crashed.
var ErrInDoubt = errors.New("begun before, and the outcome is not recorded")

// A Table records operations by name. It is safe for concurrent use, also by
// several processes on one database.
type Table struct{ db *sql.DB }

// NewTable makes the table where it is missing. The database stays the
// caller's.
func NewTable(ctx context.Context, db *sql.DB) (*Table, error) {
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS operations (
		name   TEXT PRIMARY KEY,
		fence  INTEGER NOT NULL,
		result TEXT)`)
	if err != nil {
		return nil, fmt.Errorf("operations: create table: %w", err)
	}
	return &Table{db}, nil
}

// Once runs do for the operation of that name, unless it was begun before: then
// it returns the recorded result, or an error that matches ErrInDoubt. fence is
// the caller's fencing token, recorded for whoever has to look into a doubt.
//
// When do fails, what it began is taken for not done, and forgotten: it must
// return an error only when it knows that.
func (t *Table) Once(
	ctx context.Context, name string, fence uint64, do func(context.Context) (result string, err error),
) (string, error) {
	// A primary key is there once, whoever inserts it.
	const begin = `INSERT INTO operations (name, fence) VALUES (?, ?) ON CONFLICT DO NOTHING`
	begun, err := t.db.ExecContext(ctx, begin, name, int64(fence)) //nolint:gosec // tokens are below 2⁵³
	if err != nil {
		return "", fmt.Errorf("operation %q: %w", name, err)
	}
	if n, err := begun.RowsAffected(); err != nil || n == 0 {
		return t.result(ctx, name, err)
	}
	result, err := do(ctx)
	// Recorded also when the caller's context is over by now.
	ctx = context.WithoutCancel(ctx)
	if err != nil {
		if _, forget := t.db.ExecContext(ctx, `DELETE FROM operations WHERE name = ?`, name); forget != nil {
			err = errors.Join(err, forget)
		}
		return "", fmt.Errorf("operation %q: %w", name, err)
	}
	if _, err := t.db.ExecContext(ctx, `UPDATE operations SET result = ? WHERE name = ?`, result, name); err != nil {
		return result, fmt.Errorf("operation %q: done, but its result could not be recorded: %w", name, err)
	}
	return result, nil
}

// result is what became of an operation that was begun before.
func (t *Table) result(ctx context.Context, name string, err error) (string, error) {
	var result sql.NullString
	var fence int64
	if err == nil {
		err = t.db.QueryRowContext(ctx, `SELECT result, fence FROM operations WHERE name = ?`, name).
			Scan(&result, &fence)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows): // begun elsewhere, failed and forgotten meanwhile
		return "", fmt.Errorf("operation %q: %w", name, ErrInDoubt)
	case err != nil:
		return "", fmt.Errorf("operation %q: %w", name, err)
	case !result.Valid:
		return "", fmt.Errorf("operation %q: by the holder of token %d: %w", name, fence, ErrInDoubt)
	}
	return result.String, nil
}
