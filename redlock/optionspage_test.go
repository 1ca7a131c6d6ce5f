package redlock_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

const optionsPage = "../docs/reference/options.md"

// optionRow is a row of the page's tables: the option, its default, its range, and whether all
// clients need the same.
var optionRow = regexp.MustCompile("^\\| `((?:redlock|pool)\\.With\\w+)\\([^`]*\\)` \\| ([^|]*) \\| ([^|]*) \\| ([^|]*) \\|$")

// optionRows gives the rows of the page by option. Each row begins with its section.
func optionRows(t *testing.T) map[string][]string {
	t.Helper()
	rows, section := make(map[string][]string), ""
	for line := range strings.Lines(read(t, optionsPage)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		found := optionRow.FindStringSubmatch(line)
		if found == nil {
			if strings.HasPrefix(line, "| `") {
				t.Errorf("%s has a row that is none of an option: %s", optionsPage, line)
			}
			continue
		}
		if rows[found[1]] != nil {
			t.Errorf("%s has two rows for %s", optionsPage, found[1])
		}
		if found[2] == "" || found[4] == "" {
			t.Errorf("%s does not say the default of %s, or whether it must be the same", optionsPage, found[1])
		}
		rows[found[1]] = append([]string{section}, found[2:]...)
	}
	return rows
}

// The page of options has a row for every option, in the section for its type, and
// no other row.
func TestOptionsPageHasEveryOption(t *testing.T) {
	rows := optionRows(t)
	for _, p := range []struct {
		name     string
		sections map[string]string // by the type of the option
	}{
		{"redlock", map[string]string{"Option": "For a client", "LockOption": "For a client or a call"}},
		{"pool", map[string]string{"Option": "For the pool"}},
	} {
		options := make(map[string]string) // with the type that they return
		for _, found := range exportedNames(t, p.name, `func (With\w+)\(.* (\w*Option)$`) {
			options[found[1]] = found[2]
		}
		if len(options) < 10 {
			t.Errorf("%s: %d options are found: too few to be all", p.name, len(options))
		}
		for name, kind := range options {
			row := rows[p.name+"."+name]
			switch {
			case row == nil:
				t.Errorf("%s has no row for %s.%s", optionsPage, p.name, name)
			case row[0] != p.sections[kind]:
				t.Errorf("%s has %s.%s under %q: want %q, for it is a %s", optionsPage, p.name, name, row[0], p.sections[kind], kind)
			}
			delete(rows, p.name+"."+name)
		}
	}
	for name := range rows {
		t.Errorf("%s has a row for %s, which there is not", optionsPage, name)
	}
}

// The ranges of the page are those that the options' own errors name.
func TestOptionsPageHasTheRangesOfTheErrors(t *testing.T) {
	rows := optionRows(t)
	strict := redlock.WithGuard(redlock.GuardStrict)
	for _, test := range []struct {
		name string
		errs []error
	}{
		{"redlock.WithMaxTTL", []error{opened(redlock.WithMaxTTL(0))}},
		{"redlock.WithDrift", []error{
			opened(redlock.WithDrift(drift.Policy{Factor: 2})), opened(redlock.WithDrift(drift.Policy{Floor: -1})),
		}},
		{"redlock.WithClientSkew", []error{opened(redlock.WithClientSkew(-1))}},
		{"redlock.WithClockError", []error{opened(redlock.WithClockError(-1))}},
		{"redlock.WithFenceRetention", []error{opened(redlock.WithFenceRetention(1))}},
		{"redlock.WithOutageWait", []error{opened(redlock.WithOutageWait(-1))}},
		{"redlock.WithTTL", []error{opened(strict, redlock.WithTTL(20*time.Millisecond))}},
		{"redlock.WithRenewal", []error{opened(redlock.WithRenewal(redlock.Renewal{Every: 1}))}},
		{"redlock.WithTries", []error{opened(redlock.WithTries(0))}},
		{"pool.WithDialTimeout", []error{pooled(pool.WithDialTimeout(0))}},
		{"pool.WithCommandTimeout", []error{pooled(pool.WithCommandTimeout(0))}},
		{"pool.WithStallLimit", []error{pooled(pool.WithStallLimit(0))}},
		{"pool.WithBackoff", []error{pooled(pool.WithBackoff(0, 0))}},
		{"pool.WithQueueLimit", []error{pooled(pool.WithQueueLimit(0))}},
	} {
		row := rows[test.name]
		if row == nil {
			t.Errorf("%s has no row", test.name)
			continue
		}
		for _, err := range test.errs {
			if err == nil {
				t.Errorf("%s takes a value beyond its range", test.name)
				continue
			}
			said := strings.ReplaceAll(row[1]+row[2], "`WithMaxTTL`", "`WithMaxTTL` (1 minute)")
			ends := rangeOf(err)
			if len(ends) == 0 {
				t.Errorf("%s: the error names no range: %v", test.name, err)
			}
			for _, end := range ends {
				if !strings.Contains(said, end) {
					t.Errorf("%s has the range %q for %s: want %s in it, as the error has: %v", optionsPage, row[2], test.name, end, err)
				}
			}
		}
	}
}

// rangeOf returns the numbers and durations that an error wants, as the page writes them.
func rangeOf(err error) []string {
	_, want, _ := strings.Cut(err.Error(), "want ")
	var ends []string
	for _, word := range strings.FieldsFunc(want, func(r rune) bool { return strings.ContainsRune(" ,[]():", r) }) {
		if d, err := time.ParseDuration(word); err == nil {
			ends = append(ends, plainDuration(d))
		} else if n, err := strconv.Atoi(word); err == nil {
			ends = append(ends, plainNumber(n))
		} else if _, err := strconv.ParseFloat(word, 64); err == nil {
			ends = append(ends, word)
		}
	}
	return ends
}

func opened(opts ...redlock.Option) error {
	client, err := redlock.Open(someURLs, opts...)
	if err == nil {
		_ = client.Close()
	}
	return err
}

func pooled(opt pool.Option) error {
	p, err := pool.New(someURLs, opt)
	if err == nil {
		_ = p.Close()
	}
	return err
}

// plainDuration formats a duration as the page writes it: 24h0m0s is "24 h".
func plainDuration(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d%(365*24*time.Hour) == 0:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%d minute", d/time.Minute)
	case d%time.Second == 0:
		return fmt.Sprintf("%d s", d/time.Second)
	default:
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	}
}

// plainNumber formats a number as the page writes it: 65536 is "65,536".
func plainNumber(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", plainNumber(n/1000), n%1000)
}
