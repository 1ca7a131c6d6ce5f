package pipeline

import "testing"

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
