package quorum

import "testing"

func TestNeed(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4, 7: 4, 63: 32} {
		if got := Need(n); got != want {
			t.Errorf("Need(%d) = %d, want %d", n, got, want)
		}
	}
}

// Any two quorums share a master, and none is larger than it must be for that.
func TestQuorumsIntersect(t *testing.T) {
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

func TestOutcome(t *testing.T) {
	for _, test := range []struct {
		total, ok, refused, failed int
		want                       Outcome
	}{
		{1, 0, 0, 0, Open},
		{1, 1, 0, 0, Granted},
		{1, 0, 1, 0, Refused},
		{1, 0, 0, 1, Unreachable},
		{2, 1, 0, 0, Open},
		{2, 2, 0, 0, Granted},
		{2, 1, 1, 0, Refused},
		{2, 1, 0, 1, Unreachable},
		{2, 0, 1, 1, Unreachable},
		{3, 1, 1, 1, Refused}, // without the refusal there were two
		{3, 0, 1, 1, Refused},
		{3, 0, 0, 2, Unreachable},
		{3, 1, 0, 2, Unreachable},
		{5, 0, 0, 0, Open},
		{5, 2, 0, 0, Open},
		{5, 3, 0, 0, Granted},
		{5, 3, 1, 1, Granted},
		{5, 3, 0, 2, Granted},
		{5, 3, 2, 0, Granted},
		{5, 2, 2, 0, Open},
		{5, 2, 0, 2, Open},
		{5, 2, 1, 1, Open},
		{5, 2, 3, 0, Refused},
		{5, 2, 2, 1, Refused},
		{5, 2, 1, 2, Refused},
		{5, 2, 0, 3, Unreachable},
		{5, 0, 3, 0, Refused},
		{5, 0, 2, 3, Unreachable},
		{5, 0, 0, 3, Unreachable},
		{5, 0, 0, 5, Unreachable},
	} {
		tally := Tally{Total: test.total, Need: Need(test.total), OK: test.ok, Refused: test.refused, Failed: test.failed}
		if got := tally.Outcome(); got != test.want {
			t.Errorf("%d masters, %d yes, %d no, %d failed: %v, want %v", test.total, test.ok, test.refused, test.failed, got, test.want)
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

// The definitions in words, by brute force over everything that may still come.
func TestTheOutcomeIsWhatCanStillHappen(t *testing.T) {
	for n := 1; n <= 7; n++ {
		each(n, func(tally Tally) {
			got := tally.Outcome()
			granted := tally.OK >= tally.Need
			// If all who have not answered yet said yes.
			possible := tally.OK+tally.Outstanding() >= tally.Need
			// If also all who refused had said yes.
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

// later calls f with every tally that one more answer makes of this one.
func later(tally Tally, f func(Tally)) {
	if tally.Outstanding() == 0 {
		return
	}
	for _, next := range []Tally{
		{Total: tally.Total, Need: tally.Need, OK: tally.OK + 1, Refused: tally.Refused, Failed: tally.Failed},
		{Total: tally.Total, Need: tally.Need, OK: tally.OK, Refused: tally.Refused + 1, Failed: tally.Failed},
		{Total: tally.Total, Need: tally.Need, OK: tally.OK, Refused: tally.Refused, Failed: tally.Failed + 1},
	} {
		f(next)
	}
}

func TestAnOutcomeIsFinal(t *testing.T) {
	for n := 1; n <= 7; n++ {
		each(n, func(tally Tally) {
			now := tally.Outcome()
			if now == Open {
				return
			}
			later(tally, func(next Tally) {
				then := next.Outcome()
				if then != now && !(now == Refused && then == Unreachable) {
					t.Errorf("%+v is %v, but %+v is %v", tally, now, next, then)
				}
			})
		})
	}
}

// An attempt is decided no later than its last answer, and as early as it can
// be: while it is open, both ways are (invariant L1).
func TestAnOpenTallyMayStillGoEitherWay(t *testing.T) {
	for n := 1; n <= 7; n++ {
		each(n, func(tally Tally) {
			if tally.Outcome() != Open {
				return
			}
			if tally.Outstanding() == 0 {
				t.Errorf("%+v is open, but everybody has answered", tally)
				return
			}
			yes, no := tally, tally
			yes.OK += tally.Outstanding()
			no.Refused += tally.Outstanding()
			if got := yes.Outcome(); got != Granted {
				t.Errorf("%+v: %v although all others say yes", tally, got)
			}
			if got := no.Outcome(); got != Refused {
				t.Errorf("%+v: %v although all others say no", tally, got)
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
