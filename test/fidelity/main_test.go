package fidelity

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// checks is how many sequences an ordinary run tries.
const checks = "150"

func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"rapid.checks":     checks,
		"rapid.nofailfile": "true", // the seed is enough to see it again
		"rapid.shrinktime": "20s",
	} {
		if err := flag.Set(name, value); err != nil { // the command line comes later, and wins
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}
