package metrics

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// ContentType is that of what WriteTo writes.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// WriteTo writes all metrics in the text format of Prometheus, version 0.0.4.
func (r *Recorder) WriteTo(w io.Writer) (int64, error) {
	counted := &countingWriter{w: w}
	b := bufio.NewWriter(counted)
	for _, f := range r.Gather() {
		if len(f.Samples) > 0 {
			writeFamily(b, &f)
		}
	}
	err := b.Flush() // which also repeats an earlier error
	return counted.n, err
}

// ServeHTTP answers a scrape.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "want GET", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", ContentType)
	_, _ = r.WriteTo(w) // whoever asked has gone
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// Errors of a bufio.Writer stay until Flush.

func writeFamily(b *bufio.Writer, f *Family) {
	_, _ = b.WriteString("# HELP " + f.Name + " " + escapeHelp.Replace(f.Help) + "\n")
	_, _ = b.WriteString("# TYPE " + f.Name + " " + string(f.Type) + "\n")
	for i := range f.Samples {
		s := &f.Samples[i]
		if s.Histogram == nil {
			writeLine(b, f.Name, f.Labels, s.Labels, "", formatFloat(s.Value))
			continue
		}
		for _, bucket := range s.Histogram.Buckets {
			writeLine(b, f.Name+"_bucket", f.Labels, s.Labels, formatFloat(bucket.UpperBound), strconv.FormatUint(bucket.Count, 10))
		}
		writeLine(b, f.Name+"_bucket", f.Labels, s.Labels, "+Inf", strconv.FormatUint(s.Histogram.Count, 10))
		writeLine(b, f.Name+"_sum", f.Labels, s.Labels, "", formatFloat(s.Histogram.Sum))
		writeLine(b, f.Name+"_count", f.Labels, s.Labels, "", strconv.FormatUint(s.Histogram.Count, 10))
	}
}

// writeLine writes one value; le, if not empty, is the bound of its bucket.
func writeLine(b *bufio.Writer, name string, labels, values []string, le, value string) {
	_, _ = b.WriteString(name)
	open := "{"
	label := func(name, value string) {
		_, _ = b.WriteString(open + name + `="` + escapeValue.Replace(value) + `"`)
		open = ","
	}
	for i := range labels {
		label(labels[i], values[i])
	}
	if le != "" {
		label("le", le)
	}
	if open == "," {
		_ = b.WriteByte('}')
	}
	_, _ = b.WriteString(" " + value + "\n")
}

var (
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	escapeValue = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

func formatFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
