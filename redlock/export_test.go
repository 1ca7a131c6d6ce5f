package redlock

import (
	"os"
	"regexp"
	"testing"
)

// WithStrict asks for what GuardStrict adds to each grant, without the guard's
// judgement of masters.
func WithStrict() Option {
	return clientOption(func(o *clientOptions) error {
		o.strictGrants = true
		return nil
	})
}

// Causes are those for which a master abstains, as the guard has them.
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
