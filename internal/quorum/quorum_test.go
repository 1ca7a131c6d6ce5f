package quorum

import "testing"

// Any two quorums share a master, and no quorum is larger than it must be for that.
func TestNeed(t *testing.T) {
	for n := 1; n <= 63; n++ {
		need := Need(n)
		if 2*need <= n {
			t.Errorf("%d of %d masters are no quorum: two of them need not meet", need, n)
		}
		if 2*(need-1) > n {
			t.Errorf("%d of %d masters are more than a quorum", need, n)
		}
	}
}

// each calls f with every tally of n masters.
func each(n int, f func(Tally)) {
	for ok := 0; ok <= n; ok++ {
		for refused := 0; ok+refused <= n; refused++ {
			for failed := 0; ok+refused+failed <= n; failed++ {
				f(Tally{Total: n, Need: Need(n), OK: ok, Refused: refused, Failed: failed})
			}
		}
	}
}

// The outcome of every tally of up to 7 masters agrees with the definitions.
func TestTheOutcomeAgreesWithItsDefinition(t *testing.T) {
	for n := 1; n <= 7; n++ {
		each(n, func(tally Tally) {
			got := tally.Outcome()
			granted := tally.OK >= tally.Need
			// If all outstanding masters said yes.
			possible := tally.OK+tally.Outstanding() >= tally.Need
			// If the masters that refused had said yes, too.
			reachable := tally.OK+tally.Outstanding()+tally.Refused >= tally.Need
			want := Open
			switch {
			case granted:
				want = Granted
			case !reachable:
				want = Unreachable
			case !possible:
				want = Refused
			}
			if got != want {
				t.Errorf("%+v: %v, want %v", tally, got, want)
			}
		})
	}
}

func TestCloseCountsTheSilentAsFailed(t *testing.T) {
	for n := 1; n <= 7; n++ {
		each(n, func(tally Tally) {
			before, outstanding := tally, tally.Outstanding()
			got := tally.Close()
			if got == Open {
				t.Errorf("%+v is open after Close", before)
			}
			if tally.Failed != before.Failed+outstanding || tally.OK != before.OK || tally.Refused != before.Refused || tally.Outstanding() != 0 {
				t.Errorf("%+v became %+v", before, tally)
			}
			if now := before.Outcome(); now == Granted && got != Granted || got == Granted && now != Granted {
				t.Errorf("%+v: %v, but %v after Close", before, now, got)
			}
			if again := tally.Close(); again != got {
				t.Errorf("%+v: %v after Close, then %v", before, got, again)
			}
		})
	}
}

func TestGone(t *testing.T) {
	for _, test := range []struct {
		total, ok, refused, failed int
		gone, open                 bool
	}{
		{1, 0, 0, 0, false, true},
		{1, 0, 1, 0, true, false},
		{3, 0, 1, 1, false, true},
		{3, 1, 1, 1, false, false},
		{3, 0, 2, 1, true, false},
		{3, 0, 0, 2, false, false},
		{4, 0, 0, 2, false, true},
		{4, 0, 2, 2, true, false},
		{5, 2, 2, 0, false, true},
		{5, 2, 1, 1, false, false},
		{5, 0, 2, 2, false, true},
		{5, 0, 0, 3, false, false},
		{5, 1, 3, 0, true, false},
	} {
		tally := Tally{Total: test.total, Need: Need(test.total), OK: test.ok, Refused: test.refused, Failed: test.failed}
		if gone, open := tally.Gone(); gone != test.gone || open != test.open {
			t.Errorf("%+v: gone %t, open %t, want %t and %t", tally, gone, open, test.gone, test.open)
		}
	}
}
