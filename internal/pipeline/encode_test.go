package pipeline

import (
	"fmt"
	"testing"
)

func TestEvalOfIsTheSameCallWithTheScriptsText(t *testing.T) {
	for _, args := range [][]any{
		{2, "key", "other", "token", int64(-5)},
		{0},
		{1, "", []byte("$3\r\nab")},
	} {
		sha := AppendCommand(nil, "EVALSHA", append([]any{"0123456789012345678901234567890123456789"}, args...)...)
		before := string(sha)
		source := "return\r\n1"
		want := string(AppendCommand(nil, "EVAL", append([]any{source}, args...)...))
		if got := string(EvalOf(sha, source)); got != want || string(sha) != before {
			t.Errorf("%v: %q, want %q", args, got, want)
		}
	}
}

func TestAHeaderHasTheLengthInDecimal(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 65536} {
		if got, want := string(AppendArray([]byte("x"), n)), fmt.Sprintf("x*%d\r\n", n); got != want {
			t.Errorf("AppendArray(%d) = %q, want %q", n, got, want)
		}
	}
}
