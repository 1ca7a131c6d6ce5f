package metrics

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Descs describes all metrics, in the order of Gather.
func (r *Recorder) Descs() []Desc {
	descs := make([]Desc, 0, len(lockMetrics)+len(masterMetrics))
	for i := range lockMetrics {
		descs = append(descs, r.lockDesc(lockMetrics[i].Desc))
	}
	for i := range masterMetrics {
		descs = append(descs, masterMetrics[i].Desc)
	}
	return descs
}

// lockDesc is a metric about locks with the label of classes, where there are
// any.
func (r *Recorder) lockDesc(d Desc) Desc {
	if r.classOf != nil {
		d.Labels = append([]string{"class"}, d.Labels...)
	}
	return d
}

// Gather takes a snapshot of all metrics. Counts that are read one after the
// other are not of one instant. It does not block.
func (r *Recorder) Gather() []Family {
	r.mu.Lock()
	classes := maps.Clone(r.classes)
	r.mu.Unlock()
	names := slices.Sorted(maps.Keys(classes))
	families := make([]Family, 0, len(lockMetrics)+len(masterMetrics))
	for i := range lockMetrics {
		m := &lockMetrics[i]
		f := Family{Desc: r.lockDesc(m.Desc)}
		for _, name := range names {
			for _, s := range m.samples(classes[name]) {
				if r.classOf != nil {
					s.Labels = append([]string{name}, s.Labels...)
				}
				f.Samples = append(f.Samples, s)
			}
		}
		families = append(families, f)
	}
	masters := r.view()
	for i := range masterMetrics {
		m := &masterMetrics[i]
		families = append(families, Family{Desc: m.Desc, Samples: m.samples(masters)})
	}
	return families
}

// view collects what is known of the masters.
func (r *Recorder) view() *view {
	v := &view{}
	r.masters.Range(func(address, m any) bool {
		v.counted = append(v.counted, countedMaster{address.(string), m.(*master)})
		return true
	})
	slices.SortFunc(v.counted, func(a, b countedMaster) int { return strings.Compare(a.address, b.address) })
	if c := r.client.Load(); c != nil {
		v.stats, v.reports = c.Stats(), c.Masters(context.Background())
	}
	return v
}

// one is the only sample of a metric without labels.
func one[N int64 | uint64 | int](n N) []Sample { return []Sample{{Value: float64(n)}} }

// each is a counter for each of names.
func each(names []string, counts []atomic.Uint64) []Sample {
	samples := make([]Sample, len(names))
	for i, name := range names {
		samples[i] = Sample{Labels: []string{name}, Value: float64(counts[i].Load())}
	}
	return samples
}

// eachHistogram leaves out those that have counted nothing.
func eachHistogram(names []string, hs []histogram, bounds []time.Duration) []Sample {
	var samples []Sample
	for i, name := range names {
		if h := hs[i].snapshot(bounds); h != nil {
			samples = append(samples, Sample{Labels: []string{name}, Histogram: h})
		}
	}
	return samples
}
