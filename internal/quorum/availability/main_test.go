package main

import (
	"math"
	"os"
	"strings"
	"testing"
)

func TestTheShareWithoutAQuorumIsThatOfTheBinomialDistribution(t *testing.T) {
	for _, test := range []struct {
		n    int
		rate float64
		want float64
	}{
		{1, 0.01, 0.01},
		{2, 0.01, 1 - 0.99*0.99},
		{3, 0.1, 3*0.1*0.1*0.9 + 0.1*0.1*0.1},
		{5, 0.5, 0.5},
		{5, 0, 0},
		{7, 1, 1},
	} {
		if got := without(test.n, test.rate); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%d masters, each away for %v: %v, want %v", test.n, test.rate, got, test.want)
		}
	}
}

func TestThePageHasTheTable(t *testing.T) {
	var b strings.Builder
	write(&b)
	page, err := os.ReadFile("../../../docs/explanation/scaling.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), b.String()) {
		t.Errorf("docs/explanation/scaling.md has not this table:\n%s", b.String())
	}
}
