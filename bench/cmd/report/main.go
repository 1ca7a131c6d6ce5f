// Command report reads the output of the benchmarks of this module and prints
// Markdown tables of it, or compares it with bounds.
//
//	go run ./cmd/report [-page FILE] results/latest.txt
//	go run ./cmd/report -bounds bounds.json results/latest.txt
//
// The tables show medians over the repetitions in the file. A ratio compares two libraries
// within one repetition, so that a machine that was slow for a while slows both of them.
// The tables show its median, least and greatest value. benchstat divides medians instead.
//
// It exits 1 when the file holds no result, or when a bound is not kept.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	page := flag.String("page", "",
		"`file` in which to replace the tables, which are all that follows its line \""+marker+"\"")
	bounds := flag.String("bounds", "", "JSON `file` of bounds to compare with, instead of making tables")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *page, *bounds, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(in, page, bounds string, out io.Writer) error {
	m, err := read(in)
	switch {
	case err != nil:
		return err
	case bounds != "":
		return m.check(bounds, out)
	case page == "":
		_, err = io.WriteString(out, m.tables())
		return err
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, _, _ := strings.Cut(string(text), marker)
	return os.WriteFile(page, []byte(before+marker+"\n\n"+m.tables()), 0o600)
}
