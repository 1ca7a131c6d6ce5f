// Command report reads the output of the benchmarks of this module and prints
// Markdown tables of it.
//
//	go run ./cmd/report [-o FILE] results/latest.txt
//
// The file may hold any number of repetitions, as `make bench` or the go
// command's -count make them; "-" is standard input. What the tables show are
// medians over the repetitions. The ratio is that of the two libraries within a
// repetition, so that a machine that was slower for a while slows both sides of
// it: its median, and its least and its greatest value.
//
// It exits 1 when the file cannot be read or holds no result of
// BenchmarkLockUnlock or BenchmarkOneFrozen, and 2 on usage.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	out := flag.String("o", "", "`file` to write to instead of standard output")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: report [-o FILE] FILE")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *out); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(in, out string) error {
	source := io.Reader(os.Stdin)
	if in != "-" {
		f, err := os.Open(in)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // it was only read
		source = f
	}
	m, err := parse(source)
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	report, err := m.markdown()
	if err != nil {
		return fmt.Errorf("%s: %w", in, err)
	}
	if out == "" {
		_, err = os.Stdout.WriteString(report)
		return err
	}
	return os.WriteFile(out, []byte(report), 0o644)
}
