package search

import (
	"cmp"
	"fmt"
	"strings"
)

// A Suite is the configurations of one model.
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
	Summary() string // what is searched, without the title
	// Explore visits at most as many states as the configuration says, or else as most says.
	Explore(most int) (*Result, error)
	// Correct is the same configuration without a mistake.
	Correct() Config
}

// A Limit is how many states a search may visit. 0: the caller's limit, or else
// DefaultMaxStates.
type Limit int

// Or returns the limit that applies when most is the caller's.
func (l Limit) Or(most int) int { return cmp.Or(int(l), most, DefaultMaxStates) }

// Names joins the names of the mistakes in a set, which has a bit for each.
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

// ListOr joins all with commas. It returns none if all is empty.
func ListOr(none string, all []string) string {
	if len(all) == 0 {
		return none
	}
	return strings.Join(all, ", ")
}
