// Command explore visits all states of the models of the lock protocol and of a move between
// fleets. It prints what it found, as tables. Its exit status is 1 if something was not as it
// has to be.
//
//	go run ./internal/model/explore           the short configurations and the mutants
//	go run ./internal/model/explore -long     the long ones too: a quarter of an hour, below 2 GB
//	go run ./internal/model/explore -traces   with the shortest way to each violation
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"

	"github.com/redquorum/redquorum/internal/model"
	"github.com/redquorum/redquorum/internal/model/moving"
)

func main() {
	long := flag.Bool("long", false, "explore the long configurations as well")
	traces := flag.Bool("traces", false, "print the shortest way to each violation")
	only := flag.String("run", "", "explore only configurations whose name matches the `regexp`")
	most := flag.Int("max", model.DefaultMaxStates, "visit at most so many `states` of a configuration that must hold")
	flag.Parse()
	name, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "explore: -run:", err)
		os.Exit(2)
	}
	// The states live until the end and are cheap to collect around: that much
	// garbage again as there are states would cost more than it saves.
	debug.SetGCPercent(20)

	e := explorer{traces: *traces, name: name, most: *most, asExpected: true}
	e.section("Short configurations: must hold", ofLock(model.Short()), true)
	if *long {
		e.section("Long configurations: must hold", ofLock(model.Long()), true)
	}
	e.section("Mistakes: two holders must be found", ofLock(model.Mutants()), false)
	e.section("Margins: mistakes that the other rules make up for, must hold", ofLock(model.Margins()), true)
	e.section("Moving, short configurations: must hold", ofMove(moving.Short()), true)
	if *long {
		e.section("Moving, long configurations: must hold", ofMove(moving.Long()), true)
	}
	e.section("Moving, mistakes: must be found", ofMove(moving.Mistakes()), false)
	e.section("Moving, margins: mistakes that the other rules make up for, must hold", ofMove(moving.Margins()), true)
	e.section("Moving, limits: what is not promised must not hold", ofMove(moving.Limits()), false)
	if !e.asExpected {
		fmt.Println("\nNOT as expected")
		os.Exit(1)
	}
	fmt.Println("\nall as expected")
}

type explorer struct {
	traces     bool
	name       *regexp.Regexp
	most       int
	asExpected bool
}

// A suite is configurations of one model.
type suite struct {
	header  func(io.Writer)
	configs []config
}

type config struct {
	name    string
	explore func(most int) (result, error)
}

// A result is what was found of one configuration.
type result struct {
	print func(io.Writer)
	holds bool
	trace func(io.Writer) // the shortest violation; nil: none was found
}

func (e *explorer) section(title string, s suite, holds bool) {
	fmt.Printf("\n%s\n\n", title)
	s.header(os.Stdout)
	type violation struct {
		name  string
		print func(io.Writer)
	}
	var violations []violation
	for _, c := range s.configs {
		if !e.name.MatchString(c.name) {
			continue
		}
		r, err := c.explore(e.most)
		if err != nil {
			fmt.Fprintln(os.Stderr, "explore:", err)
			os.Exit(2)
		}
		r.print(os.Stdout)
		if r.trace != nil {
			violations = append(violations, violation{c.name, r.trace})
		}
		if r.holds != holds || !holds && r.trace == nil {
			e.asExpected = false
		}
	}
	for _, v := range violations {
		if e.traces || holds {
			fmt.Printf("\n%s:\n", v.name)
			v.print(os.Stdout)
		}
	}
}

// bound is how many states of a configuration are visited at the most: what it says
// itself, or most, or what its model is made for.
func bound(own, most, model int) int {
	if own != 0 {
		return own
	}
	return min(most, model)
}

func ofLock(configs []model.Config) suite {
	s := suite{header: model.PrintHeader}
	for _, c := range configs {
		s.configs = append(s.configs, config{c.Name, func(most int) (result, error) {
			c.MaxStates = bound(c.MaxStates, most, most)
			r, err := model.Explore(c)
			if err != nil {
				return result{}, err
			}
			found := result{print: r.Print, holds: r.Holds()}
			if r.Trace != nil {
				found.trace = r.Trace.Print
			}
			return found, nil
		}})
	}
	return s
}

func ofMove(configs []moving.Config) suite {
	s := suite{header: moving.PrintHeader}
	for _, c := range configs {
		s.configs = append(s.configs, config{c.Name, func(most int) (result, error) {
			c.MaxStates = bound(c.MaxStates, most, moving.DefaultMaxStates)
			r, err := moving.Explore(c)
			if err != nil {
				return result{}, err
			}
			found := result{print: r.Print, holds: r.Holds()}
			if r.Trace != nil {
				found.trace = func(w io.Writer) { r.Trace.Print(w, r.Config) }
			}
			return found, nil
		}})
	}
	return s
}
