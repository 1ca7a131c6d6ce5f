package words

import (
	"testing"
	"time"
)

func TestNumbersAreAsPeopleReadThem(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "–", 412 * time.Microsecond: "0.41 ms", 3200 * time.Microsecond: "3.2 ms", 412 * time.Millisecond: "412 ms", 1300 * time.Millisecond: "1.3 s",
	} {
		if got := Span(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	if Count(1, "master") != "1 master" || Count(0, "master") != "0 masters" || Number(3) != "three" || Number(11) != "11" {
		t.Error(Count(1, "master"), Count(0, "master"), Number(3), Number(11))
	}
}

func TestTextIsWrapped(t *testing.T) {
	t.Parallel()
	if got, want := Wrap("→ ", 2, 12, "ein  Wört ist\tda drüben"), "→ ein Wört\n  ist da\n  drüben"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Wrap("a", 1, 4, "muchtoolong"); got != "amuchtoolong" {
		t.Errorf("%q", got)
	}
}
