// Command explore visits all states of the models of the lock protocol and of a move
// between fleets, and prints what it found, as tables. Its exit status is 1 if something was not as it has
// to be.
//
//	go run ./internal/model/explore           the short configurations and the mutants
//	go run ./internal/model/explore -long     the long ones too: a quarter of an hour, below 2 GB
//	go run ./internal/model/explore -traces   with the shortest way to each violation
package main

import (
	"flag"
	"fmt"
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
	e.section("Short configurations: must hold", model.Short(), true)
	if *long {
		e.section("Long configurations: must hold", model.Long(), true)
	}
	e.section("Mistakes: two holders must be found", model.Mutants(), false)
	e.section("Margins: mistakes that the other rules make up for, must hold", model.Margins(), true)
	e.moving("Moving, short configurations: must hold", moving.Short(), true)
	if *long {
		e.moving("Moving, long configurations: must hold", moving.Long(), true)
	}
	e.moving("Moving, mistakes: must be found", moving.Mistakes(), false)
	e.moving("Moving, margins: mistakes that the other rules make up for, must hold", moving.Margins(), true)
	e.moving("Moving, limits: what is not promised must not hold", moving.Limits(), false)
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

func (e *explorer) section(title string, configs []model.Config, holds bool) {
	fmt.Printf("\n%s\n\n", title)
	model.PrintHeader(os.Stdout)
	var violated []*model.Result
	for _, c := range configs {
		if !e.name.MatchString(c.Name) {
			continue
		}
		if c.MaxStates == 0 {
			c.MaxStates = e.most
		}
		r, err := model.Explore(c)
		if err != nil {
			fmt.Fprintln(os.Stderr, "explore:", err)
			os.Exit(2)
		}
		r.Print(os.Stdout)
		if r.Trace != nil {
			violated = append(violated, r)
		}
		if r.Holds() != holds || !holds && r.Trace == nil {
			e.asExpected = false
		}
	}
	for _, r := range violated {
		if e.traces || holds {
			fmt.Printf("\n%s:\n", r.Config.Name)
			r.Trace.Print(os.Stdout)
		}
	}
}

// moving is section for configurations of a move.
func (e *explorer) moving(title string, configs []moving.Config, holds bool) {
	fmt.Printf("\n%s\n\n", title)
	moving.PrintHeader(os.Stdout)
	var violated []*moving.Result
	for _, c := range configs {
		if !e.name.MatchString(c.Name) {
			continue
		}
		if c.MaxStates == 0 {
			c.MaxStates = min(e.most, moving.DefaultMaxStates)
		}
		r, err := moving.Explore(c)
		if err != nil {
			fmt.Fprintln(os.Stderr, "explore:", err)
			os.Exit(2)
		}
		r.Print(os.Stdout)
		if r.Trace != nil {
			violated = append(violated, r)
		}
		if r.Holds() != holds || !holds && r.Trace == nil {
			e.asExpected = false
		}
	}
	for _, r := range violated {
		if e.traces || holds {
			fmt.Printf("\n%s:\n", r.Config.Name)
			r.Trace.Print(os.Stdout, r.Config)
		}
	}
}
