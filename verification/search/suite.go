package search

import (
	"cmp"
	"fmt"
	"strings"
)

// A Suite is what is searched of one model.
type Suite struct {
	Name     string
	Short    []Config // in every run of the tests: must hold
	Long     []Config // on demand: must hold
	Mistakes []Config // each leaves rules out: a violation must be found
	Margins  []Config // these leave rules out that the other rules make up for: must hold
	Rules    []string // the mistakes by name
}

// A Config is one configuration of a model.
type Config interface {
	Title() string
	Summary() string // what is searched, beside the title
	// Explore visits so many states as the configuration says, or else so many as are given.
	Explore(most int) (*Result, error)
	// Correct is the same without a mistake.
	Correct() Config
}

// A Limit is the most states that a search may visit; 0: as many as whoever begins it says,
// or DefaultMaxStates.
type Limit int

// Or returns the limit that holds where so many are given.
func (l Limit) Or(most int) int { return cmp.Or(int(l), most, DefaultMaxStates) }

// Names are the mistakes of a set, a bit each.
func Names[M ~uint16](set M, names []string) string {
	var all []string
	for i, name := range names {
		if set&(1<<i) != 0 {
			all = append(all, name)
		}
	}
	return strings.Join(all, " + ")
}

// InRange reports an option of a configuration that is out of its range.
func InRange(option string, value, from, to int) error {
	if value < from || value > to {
		return fmt.Errorf("%s is %d: want %d to %d", option, value, from, to)
	}
	return nil
}

// ListOr joins what there is with commas; if nothing is, it is that word.
func ListOr(none string, all []string) string {
	if len(all) == 0 {
		return none
	}
	return strings.Join(all, ", ")
}
