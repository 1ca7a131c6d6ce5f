package sim

import (
	"os"
	"strconv"
	"testing"
)

// tenthVariable holds a digit: .ci/run sets it to run another tenth of the long tests each day.
const tenthVariable = "REDQUORUM_TENTH"

// Tenth says which of n things run: all of them, or every tenth. It logs how many it leaves out.
func Tenth(t *testing.T, n int, things string) (runs func(i int) bool) {
	t.Helper()
	digit, given := os.LookupEnv(tenthVariable)
	if !given {
		return func(int) bool { return true }
	}
	tenth, err := strconv.ParseUint(digit, 10, 64)
	if err != nil || tenth > 9 {
		t.Fatalf("%s is %q: want a digit", tenthVariable, digit)
	}
	runs = func(i int) bool { return i%10 == int(tenth) }
	left := 0
	for i := range n {
		if !runs(i) {
			left++
		}
	}
	t.Logf("left out: %d of %d %s, all but tenth %s: make test-all runs them", left, n, things, digit)
	return runs
}
