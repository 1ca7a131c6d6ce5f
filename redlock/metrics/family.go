package metrics

// A Type is that of a metric, in the words of the text format.
type Type string

// Types of metrics.
const (
	Counter       Type = "counter"
	Gauge         Type = "gauge"
	HistogramType Type = "histogram"
)

// A Desc describes a metric.
type Desc struct {
	Name   string
	Help   string
	Type   Type
	Labels []string // their names
}

// A Family is a metric with its values.
type Family struct {
	Desc
	Samples []Sample
}

// A Sample is one value of a metric.
type Sample struct {
	Labels    []string // values, in the order of Desc.Labels
	Value     float64
	Histogram *Histogram // of a histogram, instead of Value
}

// A Histogram is a distribution of durations in seconds.
type Histogram struct {
	Count   uint64
	Sum     float64
	Buckets []Bucket // the last one, without a bound, is left out
}

// A Bucket counts what is not above its bound.
type Bucket struct {
	UpperBound float64
	Count      uint64
}
