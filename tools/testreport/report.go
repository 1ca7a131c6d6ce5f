package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is one line of `go test -json`: an event of test2json (see
// `go doc test2json`) or one of the go command's own about a build.
type event struct {
	Action     string
	Package    string
	Test       string // empty when the event is about the package
	Output     string
	ImportPath string // of build events
}

// report gathers the events of one run of go test.
type report struct {
	out      io.Writer
	packages map[string]*pkg
	closing  []string
	skips    []skip // in the order in which their packages ended
}

// skip is one skipped test.
type skip struct{ pkg, test, reason string }

// pkg is what is known of a package that is still being tested.
type pkg struct {
	lines []line // but those of tests that ended without failing
}

// line is one line of output and the test it belongs to, if any.
type line struct{ test, text string }

func newReport(out io.Writer) *report {
	return &report{out: out, packages: map[string]*pkg{}}
}

// read takes in all events and writes to out what is to be seen at once. A
// line that is no event is shown as it is: the go command and a crashing test
// binary may both print such. The error is one of reading or writing.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		text, readErr := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(text)) > 0 {
			var e event
			var err error
			if json.Unmarshal(text, &e) == nil && e.Action != "" {
				err = r.take(e)
			} else {
				_, err = r.out.Write(text)
			}
			if err != nil {
				return err
			}
		}
		if readErr == io.EOF {
			return r.abandoned()
		}
		if readErr != nil {
			return readErr
		}
	}
}

// take handles one event.
func (r *report) take(e event) error {
	if e.Action == "build-output" {
		_, err := io.WriteString(r.out, e.Output)
		return err
	}
	if e.Package == "" {
		return nil
	}
	p := r.packages[e.Package]
	if p == nil {
		p = &pkg{}
		r.packages[e.Package] = p
	}
	switch e.Action {
	case "output":
		if e.Test == "" && isClosing(e.Output) {
			r.closing = append(r.closing, e.Output)
		}
		p.lines = append(p.lines, line{e.Test, e.Output})
	case "pass", "fail", "skip":
		if e.Test != "" {
			if e.Action == "skip" {
				r.skips = append(r.skips, skip{e.Package, e.Test, reasonOf(p.of(e.Test))})
			}
			if e.Action != "fail" {
				p.forget(e.Test)
			}
			return nil
		}
		delete(r.packages, e.Package)
		return p.show(r.out, e.Action == "fail")
	}
	return nil
}

// abandoned shows what is known of packages that never ended, because go test
// itself was ended.
func (r *report) abandoned() error {
	for name, p := range r.packages {
		if _, err := fmt.Fprintf(r.out, "%s: the run ended before the package did\n", name); err != nil {
			return err
		}
		if err := p.show(r.out, true); err != nil {
			return err
		}
	}
	return nil
}

// of returns what the test has printed.
func (p *pkg) of(test string) []string {
	var texts []string
	for _, l := range p.lines {
		if l.test == test {
			texts = append(texts, l.text)
		}
	}
	return texts
}

// forget drops what a test has printed that did not fail: nobody will see it.
func (p *pkg) forget(test string) {
	p.lines = slices.DeleteFunc(p.lines, func(l line) bool { return l.test == test })
}

// show prints what is left of a package when it ends: of one that failed all
// that go test prints without -v, of another what it said outside of any test
// (a TestMain that tells what it found to test against) and its closing line.
func (p *pkg) show(out io.Writer, failed bool) error {
	for _, l := range p.lines {
		switch {
		case strings.HasPrefix(l.text, "=== "):
			continue // RUN, PAUSE, CONT, NAME: marks of the protocol
		case !failed && l.test != "":
			continue
		case !failed && (l.text == "PASS\n" || strings.HasPrefix(l.text, "testing: warning: no tests to run")):
			continue
		}
		if _, err := io.WriteString(out, l.text); err != nil {
			return err
		}
	}
	return nil
}

// isClosing tells the line with which the go command closes a package.
func isClosing(text string) bool {
	for _, start := range []string{"ok  \t", "FAIL\t", "?   \t", "\t"} {
		if strings.HasPrefix(text, start) {
			// Without tests but with -cover the line starts by a tab.
			return start != "\t" || strings.Contains(text, "coverage:")
		}
	}
	return false
}

// closingLines is what the go command printed at the end of every package, in
// the order in which they ended.
func (r *report) closingLines() string { return strings.Join(r.closing, "") }
