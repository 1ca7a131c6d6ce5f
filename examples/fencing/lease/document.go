// Package lease keeps the lease in the storage itself: a version that every
// change raises, the name of a writer, and the time until which that writer has
// the document for itself.
//
// The version protects: a change is made only if nobody has changed the document
// since it was read (compare and swap), with or without a lock. The lease, like a
// distributed lock, only saves work that would be thrown away. It ends by the one
// clock of the storage, so the clients' clocks do not matter. But it covers only
// what is in this storage.
package lease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Errors of a change. Nothing was changed.
var (
	ErrChanged = errors.New("the document was changed since it was read")
	ErrLeased  = errors.New("another writer has the document for itself")
)

// A Store is a table of documents. It is safe for concurrent use, also by
// several processes on one database.
type Store struct {
	db *sql.DB
	// now is SQL for the storage's clock, in milliseconds since 1970.
	now string
}

// storageClock is the clock of the database's process. A database server has one
// clock; with SQLite it is the clock of the machine.
const storageClock = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`

// NewStore makes the table if it is missing. The caller still owns the database.
func NewStore(ctx context.Context, db *sql.DB) (*Store, error) {
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS documents (
		name         TEXT PRIMARY KEY,
		body         TEXT NOT NULL,
		version      INTEGER NOT NULL DEFAULT 1,
		writer       TEXT NOT NULL DEFAULT '',
		leased_until INTEGER NOT NULL DEFAULT 0)`)
	if err != nil {
		return nil, fmt.Errorf("documents: create table: %w", err)
	}
	return &Store{db, storageClock}, nil
}

// Create adds a document.
func (s *Store) Create(ctx context.Context, name, body string) error {
	if _, err := s.db.ExecContext(ctx, `INSERT INTO documents (name, body) VALUES (?, ?)`, name, body); err != nil {
		return fmt.Errorf("document %q: create: %w", name, err)
	}
	return nil
}

// Read returns the document and its version.
func (s *Store) Read(ctx context.Context, name string) (body string, version int64, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT body, version FROM documents WHERE name = ?`, name).Scan(&body, &version)
	if err != nil {
		return "", 0, fmt.Errorf("document %q: read: %w", name, err)
	}
	return body, version, nil
}

// Lease gives the document to the writer alone, for ttl from now by the storage's
// clock, unless another writer has it. It raises the version, so all versions that
// were read before are old: a writer that was paused past its lease can no longer
// write. It returns the new version.
func (s *Store) Lease(ctx context.Context, name, writer string, ttl time.Duration) (version int64, err error) {
	err = s.db.QueryRowContext(ctx, `UPDATE documents
		SET version = version + 1, writer = ?1, leased_until = `+s.now+` + ?2
		WHERE name = ?3 AND (writer = ?1 OR leased_until <= `+s.now+`)
		RETURNING version`, writer, ttl.Milliseconds(), name).Scan(&version)
	return version, s.explain(ctx, "lease", name, ErrLeased, err)
}

// Write changes the document if its version is still the one that the caller
// has read or leased, and ends the lease. It returns the new version.
func (s *Store) Write(ctx context.Context, name, body string, version int64) (newVersion int64, err error) {
	err = s.db.QueryRowContext(ctx, `UPDATE documents
		SET body = ?, version = version + 1, leased_until = 0
		WHERE name = ? AND version = ?
		RETURNING version`, body, name, version).Scan(&newVersion)
	return newVersion, s.explain(ctx, "write", name, ErrChanged, err)
}

// explain distinguishes a refusal from a document that does not exist.
func (s *Store) explain(ctx context.Context, op, name string, refusal, err error) error {
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("document %q: %s: %w", name, op, err)
	}
	if _, _, err := s.Read(ctx, name); err != nil {
		return err
	}
	return fmt.Errorf("document %q: %s: %w", name, op, refusal)
}
