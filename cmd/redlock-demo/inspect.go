package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/redlock"
)

// An inspector asks all masters who holds a key; redlock.Client is one.
type inspector interface {
	Inspect(ctx context.Context, key string) (*redlock.Inspection, error)
}

var verdictCodes = map[redlock.Verdict]int{
	redlock.VerdictFree:    exitOK,
	redlock.VerdictHeld:    exitOK,
	redlock.VerdictSplit:   exitFailed,
	redlock.VerdictPartial: exitFailed,
	redlock.VerdictUnknown: exitNoQuorum,
}

// checkCodes are those of status --check: whether somebody holds the lock on a quorum.
var checkCodes = map[redlock.Verdict]int{
	redlock.VerdictFree:    exitOK,
	redlock.VerdictHeld:    exitFailed,
	redlock.VerdictSplit:   exitOK,
	redlock.VerdictPartial: exitOK,
	redlock.VerdictUnknown: exitNoQuorum,
}

// verdictNames are the verdicts as --json has them.
var verdictNames = map[redlock.Verdict]string{
	redlock.VerdictFree:    "free",
	redlock.VerdictHeld:    "held",
	redlock.VerdictSplit:   "split",
	redlock.VerdictPartial: "partial",
	redlock.VerdictUnknown: "unknown",
}

// inspectionError is what the command says of an inspection that failed: a bad
// key is the caller's mistake.
func inspectionError(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, redlock.ErrClosed) {
		return err
	}
	return inFlags(err)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// printable is what somebody else has stored, without what would move the
// cursor, and shortened.
func printable(s string) string { return shortened(unmoving(s), 48) }

// unmoving is what somebody else has stored, without what would move the cursor.
func unmoving(s string) string {
	if quoted := fmt.Sprintf("%q", s); quoted != `"`+s+`"` {
		return quoted
	}
	return s
}

func shortened(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}
