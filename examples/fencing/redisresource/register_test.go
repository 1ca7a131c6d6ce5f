package redisresource

import (
	"errors"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/redlock/redlocktest"
)

// holder is a lock of which only the tokens matter.
type holder struct {
	fence uint64
	token string
}

func (h holder) Fence() uint64 { return h.fence }
func (h holder) Token() string { return h.token }

// Real fencing tokens are as high: microseconds since 1970. Lua would print them rounded.
var first, second = holder{1795269600000001, "first"}, holder{1795269600000002, "second"}

func newRegister(t *testing.T) *Register {
	t.Helper()
	conn, err := redis.DialURL(redlocktest.Start(t, 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &Register{Conn: conn, Key: "leader"}
}

func claim(t *testing.T, r *Register, h Holder, want string) {
	t.Helper()
	if value, err := r.Claim(h); err != nil || value != want {
		t.Fatalf("Claim by %v: %q, %v; want %q", h, value, err, want)
	}
}

func TestStaleHolderChangesNothing(t *testing.T) {
	r := newRegister(t)
	claim(t, r, first, "")
	if err := r.Write(first, "one"); err != nil {
		t.Fatal(err)
	}
	// The first holder is paused here, for longer than its lease.
	claim(t, r, second, "one")
	if err := r.Write(first, "late"); !errors.Is(err, ErrStale) {
		t.Errorf("a stale write before the next one's: %v, want ErrStale", err)
	}
	if err := r.Write(second, "two"); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(first, "late"); !errors.Is(err, ErrStale) {
		t.Errorf("a stale write: %v, want ErrStale", err)
	}
	if _, err := r.Claim(first); !errors.Is(err, ErrStale) {
		t.Errorf("a stale claim: %v, want ErrStale", err)
	}
	claim(t, r, second, "two")
}

func TestSameTokenOfAnotherOwnerIsRefused(t *testing.T) {
	r := newRegister(t)
	claim(t, r, first, "")
	twin := holder{first.fence, "twin"}
	if _, err := r.Claim(twin); !errors.Is(err, ErrStale) {
		t.Errorf("Claim: %v, want ErrStale", err)
	}
	if err := r.Write(twin, "x"); !errors.Is(err, ErrStale) {
		t.Errorf("Write: %v, want ErrStale", err)
	}
	claim(t, r, first, "")
}

func TestWriteNeedsAClaim(t *testing.T) {
	r := newRegister(t)
	if err := r.Write(first, "x"); !errors.Is(err, ErrStale) {
		t.Errorf("Write without Claim: %v, want ErrStale", err)
	}
	claim(t, r, first, "")
}

func TestTokenOutOfRange(t *testing.T) {
	r := newRegister(t)
	for _, fence := range []uint64{0, 1 << 53} {
		if _, err := r.Claim(holder{fence, "x"}); err == nil || errors.Is(err, ErrStale) {
			t.Errorf("token %d: %v", fence, err)
		}
	}
}
