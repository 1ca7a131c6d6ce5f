// Command report reads the output of the benchmarks of this module and prints
// Markdown tables of it, draws a plot, or compares it with bounds.
//
//	go run ./cmd/report [-o FILE] [-plot FILE] results/latest.txt
//	go run ./cmd/report -bounds bounds.json results/latest.txt
//
// The file may hold any number of repetitions, as `make bench` or the go
// command's -count make them. What the tables show are medians over the
// repetitions. A ratio is that of two libraries within a repetition, so that a
// machine that was slower for a while slows both sides of it: its median, and its
// least and its greatest value.
//
// It exits 1 when the file cannot be read, when it holds no result of a known
// benchmark, or when a bound is not kept. Wrong usage exits 2.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

// options are what the flags say.
type options struct {
	out    string // where the tables go; empty is standard output
	plot   string // where the plot goes; empty for none
	bounds string // what to compare with instead; empty for no comparison
}

func main() {
	var o options
	flag.StringVar(&o.out, "o", "", "`file` to write the tables to instead of standard output; what it holds of other benchmarks stays")
	flag.StringVar(&o.plot, "plot", "", "SVG `file` to draw to, and to show among the tables")
	flag.StringVar(&o.bounds, "bounds", "", "JSON `file` of bounds to compare with, instead of making tables")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: report [-o FILE] [-plot FILE] FILE\n       report -bounds FILE FILE")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 || o.bounds != "" && (o.out != "" || o.plot != "") {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(in string, o options, stdout io.Writer) error {
	m, err := read(in)
	if err != nil {
		return err
	}
	if o.bounds != "" {
		return m.check(o.bounds, stdout)
	}
	if o.plot != "" {
		if err := m.plot(o.plot); err != nil {
			return err
		}
	}
	if o.out != "" {
		return m.publish(o.out, o.plot)
	}
	page, err := m.page("")
	if err != nil {
		return err
	}
	_, err = io.WriteString(stdout, page.String())
	return err
}
