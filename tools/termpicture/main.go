package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.out, "out", "", "the picture")
	flag.StringVar(&o.timing, "timing", "", "the timing that script(1) wrote")
	flag.StringVar(&o.at, "at", "", "times of the screens to show")
	flag.StringVar(&o.from, "from", "", "text in the first line to show")
	flag.StringVar(&o.to, "to", "", "text in the last line to show")
	flag.StringVar(&o.title, "title", "", "title of the picture")
	flag.IntVar(&o.cols, "cols", 96, "columns of the terminal")
	flag.Parse()
	if err := run(o, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "termpicture:", err)
		os.Exit(1)
	}
}

type options struct {
	out, timing, at, from, to, title string
	cols                             int
}

func run(o options, record string) error {
	text, err := os.ReadFile(record)
	if err != nil {
		return err
	}
	timing, err := os.ReadFile(o.timing)
	if err != nil {
		return err
	}
	frames, err := framesOf(o, sameAddresses(string(text)), string(timing), len(text))
	if err != nil {
		return err
	}
	return os.WriteFile(o.out, []byte(svg(frames, o.cols, o.title)), 0o644) //nolint:gosec // a picture for everybody
}

// framesOf are the screens to show.
func framesOf(o options, text, timing string, size int) ([][][]cell, error) {
	if len(text) != size {
		return nil, fmt.Errorf("the record has %d bytes, %d with other addresses: want as many", size, len(text))
	}
	var at []time.Duration
	for word := range strings.SplitSeq(o.at, ",") {
		if word == "" {
			continue
		}
		d, err := time.ParseDuration(word)
		if err != nil {
			return nil, err
		}
		at = append(at, d)
	}
	// A line about what goes before the record, which has one of its own.
	if strings.HasPrefix(text, "Script started") {
		_, text, _ = strings.Cut(text, "\n")
	}
	s := &screen{cols: o.cols}
	var now time.Duration
	var frames [][][]cell
	lines := bufio.NewScanner(strings.NewReader(timing))
	for lines.Scan() {
		delay, bytes, _ := strings.Cut(lines.Text(), " ")
		seconds, err := strconv.ParseFloat(delay, 64)
		if err != nil {
			return nil, err
		}
		n, err := strconv.Atoi(bytes)
		if err != nil || n > len(text) {
			return nil, fmt.Errorf("%q in the timing, and %d bytes are left", lines.Text(), len(text))
		}
		now += time.Duration(seconds * float64(time.Second))
		for len(at) > 0 && now > at[0] {
			frames, at = append(frames, s.snapshot()), at[1:]
		}
		s.write(text[:n])
		text = text[n:]
	}
	if len(at) > 0 {
		return nil, fmt.Errorf("it ended after %v, before %v", now, at[0])
	}
	if frames == nil {
		lines, err := cut(s.snapshot(), o.from, o.to)
		if err != nil {
			return nil, err
		}
		frames = [][][]cell{lines}
	}
	return frames, nil
}

// cut leaves the lines from the first with one text to the next with the other.
func cut(lines [][]cell, from, to string) ([][]cell, error) {
	has := func(text string) func([]cell) bool {
		return func(line []cell) bool { return strings.Contains(plain(line), text) }
	}
	if first := slices.IndexFunc(lines, has(from)); first >= 0 {
		lines = lines[first:]
		if to == "" {
			return lines, nil
		}
		if last := slices.IndexFunc(lines, has(to)); last >= 0 {
			return lines[:last+1], nil
		}
	}
	return nil, fmt.Errorf("no lines from %q to %q", from, to)
}

var address = regexp.MustCompile(`127\.0\.0\.1:\d{5}`)

// sameAddresses names the masters of any run alike. The text keeps its length, which
// the timing counts.
func sameAddresses(text string) string {
	names := make(map[string]string)
	return address.ReplaceAllStringFunc(text, func(a string) string {
		if names[a] == "" {
			names[a] = fmt.Sprintf("127.0.0.1:%d", 7101+len(names))
		}
		return names[a] + strings.Repeat(" ", len(a)-len(names[a]))
	})
}
