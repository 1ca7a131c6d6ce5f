package sqlresource

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"
)

// holder is a lock of which only the tokens matter.
type holder struct {
	fence uint64
	token string
}

func (h holder) Fence() uint64 { return h.fence }
func (h holder) Token() string { return h.token }

var first, second = holder{7, "first"}, holder{9, "second"}

func newStock(t *testing.T) *Stock {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "stock.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s, err := NewStock(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "bolt", 10); err != nil {
		t.Fatal(err)
	}
	return s
}

func claim(t *testing.T, s *Stock, h Holder, want int) {
	t.Helper()
	if n, err := s.Claim(t.Context(), "bolt", h); err != nil || n != want {
		t.Fatalf("Claim by %v: %d, %v; want %d", h, n, err, want)
	}
}

func wantCount(t *testing.T, s *Stock, want int) {
	t.Helper()
	if n, err := s.Count(t.Context(), "bolt"); err != nil || n != want {
		t.Errorf("count %d, %v; want %d", n, err, want)
	}
}

// A former holder is refused as soon as the next holder has claimed the item, even if
// neither has written. So what the next holder has read stays true.
func TestStaleHolderChangesNothing(t *testing.T) {
	s := newStock(t)
	claim(t, s, first, 10)
	// The first holder is paused here, for longer than its lease.
	claim(t, s, second, 10)
	if err := s.Write(t.Context(), "bolt", 3, first); !errors.Is(err, ErrStale) {
		t.Errorf("a write between the next one's claim and its write: %v, want ErrStale", err)
	}
	wantCount(t, s, 10)
	if err := s.Write(t.Context(), "bolt", 9, second); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), "bolt", 9, first); !errors.Is(err, ErrStale) {
		t.Errorf("a stale write: %v, want ErrStale", err)
	}
	if _, err := s.Claim(t.Context(), "bolt", first); !errors.Is(err, ErrStale) {
		t.Errorf("a stale claim: %v, want ErrStale", err)
	}
	wantCount(t, s, 9)
}

func TestHolderMayClaimAndWriteAgain(t *testing.T) {
	s := newStock(t)
	for want := 10; want > 7; want-- {
		claim(t, s, first, want)
		if err := s.Write(t.Context(), "bolt", want-1, first); err != nil {
			t.Fatal(err)
		}
	}
	wantCount(t, s, 7)
}

// Two holders with one fencing token, which should never exist, are distinguished.
func TestSameTokenOfAnotherOwnerIsRefused(t *testing.T) {
	s := newStock(t)
	claim(t, s, first, 10)
	twin := holder{first.fence, "twin"}
	if _, err := s.Claim(t.Context(), "bolt", twin); !errors.Is(err, ErrStale) {
		t.Errorf("Claim: %v, want ErrStale", err)
	}
	if err := s.Write(t.Context(), "bolt", 1, twin); !errors.Is(err, ErrStale) {
		t.Errorf("Write: %v, want ErrStale", err)
	}
}

func TestWriteNeedsAClaim(t *testing.T) {
	s := newStock(t)
	if err := s.Write(t.Context(), "bolt", 1, first); !errors.Is(err, ErrStale) {
		t.Errorf("Write without Claim: %v, want ErrStale", err)
	}
	wantCount(t, s, 10)
}

func TestBadCalls(t *testing.T) {
	s := newStock(t)
	if _, err := s.Claim(t.Context(), "bolt", holder{0, "unfenced"}); err == nil || errors.Is(err, ErrStale) {
		t.Errorf("Claim without a token: %v", err)
	}
	if err := s.Write(t.Context(), "bolt", 1, holder{1 << 63, "too high"}); err == nil || errors.Is(err, ErrStale) {
		t.Errorf("Write with a token that SQL cannot hold: %v", err)
	}
	if _, err := s.Claim(t.Context(), "nut", first); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("Claim of an item that is not there: %v, want sql.ErrNoRows", err)
	}
}
