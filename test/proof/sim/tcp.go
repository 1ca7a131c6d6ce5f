package sim

import (
	"testing"
	"time"
)

// RunTCP runs a profile over TCP in real time: the masters listen, and nothing is lost on the way.
// Times are twice as long, for processors that have other work. Two runs of a seed differ.
func RunTCP(t *testing.T, p *Profile, seed uint64) *Result {
	t.Helper()
	for _, d := range []*time.Duration{
		&p.TTL, &p.MaxTTL, &p.StallLimit, &p.CommandTimeout, &p.Closes,
		&p.Blocks, &p.Freezes, &p.BlockedFor, &p.Restarts, &p.DownFor,
	} {
		*d *= 2
	}
	p.Partitions, p.CutOneIn, p.SlowOneIn, p.TwiceOneIn = 0, 0, 0, 0
	w, err := newWorld(p, seed, true, true)
	if err != nil {
		t.Fatal(err)
	}
	r := w.run()
	r.check()
	return r
}
