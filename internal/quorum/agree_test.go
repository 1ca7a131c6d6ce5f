package quorum

import (
	"math/rand/v2"
	"testing"
)

// A question with several candidates is open for as long as some candidate can still
// get a quorum. It is granted to the candidate that has one. Both hold whatever the
// votes are.
func TestVotesForSeveralCandidatesAreDecidedAsEarlyAsPossible(t *testing.T) {
	for range 20_000 {
		total, candidates := 1+rand.N(7), 2+rand.N(4)
		need := Need(total)
		tally := Tally{Total: total, Need: need, Votes: make([]int, candidates)}
		votes := make([]int, candidates)
		failed := 0
		for answered := 1; answered <= total; answered++ {
			switch n := rand.N(candidates + 2); n {
			case candidates:
				tally.Refused++
			case candidates + 1:
				failed++
				tally.Failed++
			default:
				votes[n]++
				tally.Agree(n + 1)
			}
			winner, possible := 0, false
			for i, n := range votes {
				if n >= need {
					winner = i + 1
				}
				possible = possible || n+total-answered >= need
			}
			want := Open
			switch {
			case winner != 0:
				want = Granted
			case total-failed < need:
				want = Unreachable
			case !possible:
				want = Refused
			}
			if got := tally.Outcome(); got != want {
				t.Fatalf("%d masters, votes %v, %d failed, %d answered: outcome %v, want %v", total, votes, failed, answered, got, want)
			}
			if winner != 0 && tally.Leads != winner {
				t.Fatalf("votes %v: candidate %d leads, want %d", votes, tally.Leads, winner)
			}
			if sum := tally.OK + tally.Refused + tally.Failed; sum != answered {
				t.Fatalf("votes %v: %d counted, %d answered", votes, sum, answered)
			}
		}
	}
}

// With one candidate every master that agrees is counted, and none leads.
func TestAgreementWithoutCandidatesIsCountedAsOK(t *testing.T) {
	tally := Tally{Total: 3, Need: 2}
	tally.Agree(0)
	tally.Agree(0)
	if tally.OK != 2 || tally.Refused != 0 || tally.Leads != 0 || tally.Outcome() != Granted {
		t.Errorf("%+v", tally)
	}
}
