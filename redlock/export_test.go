package redlock

import (
	"os"
	"regexp"
	"testing"
)

// WithStrict asks for what GuardStrict adds to each grant, without the guard's judgment of masters.
func WithStrict() Option {
	return clientOption(func(o *clientOptions) error {
		o.strictGrants = true
		return nil
	})
}

// Causes are the guard's reasons for a master to abstain.
func Causes(t *testing.T) []string {
	source, err := os.ReadFile("../internal/guard/abstain.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, match := range regexp.MustCompile(`Cause = "(.+?)"`).FindAllStringSubmatch(string(source), -1) {
		all = append(all, match[1])
	}
	if len(all) < 14 {
		t.Fatal(all)
	}
	return all
}
