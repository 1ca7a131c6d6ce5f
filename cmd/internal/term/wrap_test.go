package term

import "testing"

func TestTextIsWrappedBetweenWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lead   string
		indent int
		text   string
		want   string
	}{
		{"→ ", 2, "ein  Wört\nist\tda drüben", "→ ein Wört\n  ist da\n  drüben"}, // letters are counted, not bytes
		{"a", 1, "much-too-long for that", "amuch-too-long\n for that"},
	} {
		if got := Wrap(c.lead, c.indent, 12, c.text); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
