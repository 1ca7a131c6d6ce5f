// Package idempotent sends each payment once, through a provider that knows
// nothing of fencing tokens. It keeps a table of what was sent.
//
// A lock alone cannot do that: its holder may be paused between its last check of
// the lock and the call to the provider, and the next holder also sends the
// payment. Here the name of the operation is recorded in the database before it is
// sent, and goes to the provider as well. A second holder finds it recorded. One
// case remains: after a crash between the record and the answer, nobody knows
// whether the payment was sent. Sending it again is safe if the provider itself
// sends each name once; most payment providers offer such a key.
package idempotent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ErrInDoubt is returned for an operation that was begun and has no recorded
// result: another caller runs it now, or crashed.
var ErrInDoubt = errors.New("begun before, and the outcome is not recorded")

// A Table records operations by name. It is safe for concurrent use, also by
// several processes on one database.
type Table struct{ db *sql.DB }

// NewTable makes the table if it is missing. The caller still owns the database.
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
// it returns the recorded result, or an error that matches ErrInDoubt. fence is the
// caller's fencing token. It is recorded for people who have to resolve a doubt.
//
// If do returns an error, the operation counts as not done and its record is deleted.
// So do must return an error only if it knows that nothing was done.
func (t *Table) Once(
	ctx context.Context, name string, fence uint64, do func(context.Context) (result string, err error),
) (string, error) {
	// The primary key lets only one caller insert the name.
	const begin = `INSERT INTO operations (name, fence) VALUES (?, ?) ON CONFLICT DO NOTHING`
	begun, err := t.db.ExecContext(ctx, begin, name, int64(fence)) //nolint:gosec // tokens are below 2⁵³
	if err != nil {
		return "", fmt.Errorf("operation %q: %w", name, err)
	}
	if n, err := begun.RowsAffected(); err != nil || n == 0 {
		return t.result(ctx, name, err)
	}
	result, err := do(ctx)
	// The result is recorded even if the caller's context has ended by now.
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

// result returns the result of an operation that was begun before.
func (t *Table) result(ctx context.Context, name string, err error) (string, error) {
	var result sql.NullString
	var fence int64
	if err == nil {
		err = t.db.QueryRowContext(ctx, `SELECT result, fence FROM operations WHERE name = ?`, name).
			Scan(&result, &fence)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows): // another caller began it, and it failed and was deleted in between
		return "", fmt.Errorf("operation %q: %w", name, ErrInDoubt)
	case err != nil:
		return "", fmt.Errorf("operation %q: %w", name, err)
	case !result.Valid:
		return "", fmt.Errorf("operation %q: by the holder of token %d: %w", name, fence, ErrInDoubt)
	}
	return result.String, nil
}
