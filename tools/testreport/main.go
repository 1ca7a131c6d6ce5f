package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	closing := flag.String("closing", "", "`file` to append the packages' closing lines to")
	skipped := flag.String("skipped", "", "`file` to append skipped tests and their reasons to")
	flag.Parse()
	if *closing == "" || *skipped == "" || flag.NArg() != 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(os.Stdin, os.Stdout, *closing, *skipped); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
}

// run copies the report of in to out and to the two files. It returns the first
// error met, but has read in to its end by then, for go test blocks on a pipe
// that nobody reads.
func run(in io.Reader, out io.Writer, closing, skipped string) error {
	report := newReport(out)
	err := report.read(in)
	if err != nil {
		_, _ = io.Copy(io.Discard, in)
	}
	for _, end := range []struct{ file, text string }{
		{closing, report.closingLines()},
		{skipped, report.skippedLines()},
	} {
		if e := appendTo(end.file, end.text); err == nil {
			err = e
		}
	}
	return err
}

func appendTo(file, text string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
