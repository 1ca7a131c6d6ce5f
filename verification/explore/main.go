// Command explore visits all states of the models of the lock protocol and of fencing
// tokens. It prints the results as tables. Its exit status is 1 if a result was not as
// expected.
//
//	go run ./explore           the short configurations, the mistakes and the margins
//	go run ./explore -long     the long ones too: a quarter of an hour, below 2 GB
//	go run ./explore -traces   with the shortest way to each violation
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/redquorum/redquorum/verification/fencing"
	"github.com/redquorum/redquorum/verification/model"
	"github.com/redquorum/redquorum/verification/search"
)

var suites = []search.Suite{model.Suite(), fencing.Suite()}

func main() {
	long := flag.Bool("long", false, "explore the long configurations as well")
	traces := flag.Bool("traces", false, "print the shortest way to each violation")
	only := flag.String("run", "", "explore only configurations whose name matches the `regexp`")
	most := flag.Int("max", search.DefaultMaxStates, "visit at most so many `states` of a configuration that must hold")
	flag.Parse()
	name, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "explore: -run:", err)
		os.Exit(2)
	}
	// The states live until the end, and the collector does not scan them. By default it would
	// let as much garbage pile up as there are states, which costs more than it saves.
	debug.SetGCPercent(20)

	e := explorer{traces: *traces, name: name, most: *most, asExpected: true}
	for _, s := range suites {
		e.section(s.Name+", short configurations: must hold", s.Short, true)
		if *long {
			e.section(s.Name+", long configurations: must hold", s.Long, true)
		}
		e.section(s.Name+", mistakes: must be found", s.Mistakes, false)
		e.section(s.Name+", margins: mistakes that the other rules make up for, must hold", s.Margins, true)
	}
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

// section prints a Markdown table with one row for each search.
func (e *explorer) section(title string, configs []search.Config, holds bool) {
	if len(configs) == 0 {
		return
	}
	fmt.Printf("\n%s\n\n", title)
	fmt.Println("| configuration | bounds | states | depth | time | memory | result |")
	fmt.Println("|---|---|---|---|---|---|---|")
	type violation struct {
		name string
		*search.Trace
	}
	var violations []violation
	for _, c := range configs {
		if !e.name.MatchString(c.Title()) {
			continue
		}
		r, err := c.Explore(e.most)
		if err != nil {
			fmt.Fprintln(os.Stderr, "explore:", err)
			os.Exit(2)
		}
		fmt.Printf("| %s | %s | %s | %d | %v | %d MB | %s |\n", c.Title(), c.Summary(),
			thousands(r.States), r.Depth, r.Elapsed.Round(10*time.Millisecond), r.Bytes>>20, r.Verdict())
		if r.Trace != nil {
			violations = append(violations, violation{c.Title(), r.Trace})
		}
		if r.Holds() != holds || !holds && r.Trace == nil {
			e.asExpected = false
		}
	}
	for _, v := range violations {
		if e.traces || holds {
			fmt.Printf("\n%s:\n", v.name)
			v.Print(os.Stdout)
		}
	}
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
