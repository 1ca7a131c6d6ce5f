package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"

	"github.com/redquorum/redquorum/redlock"
)

var drawPicture = flag.Bool("picture", false, "draw docs/img/samefault.svg of this run")

const (
	samePicture = "../../docs/img/samefault.svg"
	sameTTL     = 4 * time.Second
	faultAfter  = time.Second
	askedAfter  = 1500 * time.Millisecond
)

// A course is what came of a lock while three of five masters restarted without their data, in
// seconds since the first client asked for it.
type course struct {
	first   float64 // until when the first client holds it
	refused float64 // when the second one is refused; 0: it never is
	second  float64 // since when it holds it
}

// A lock is held while three of five masters restart without their data, and another client
// asks for it. The README shows what comes of that, in a picture that this test draws.
func TestTheSameFaultGrantsALockTwiceWithoutTheGuardAndOnceWithIt(t *testing.T) {
	t.Parallel()
	theirs, ours := faultWithRedsync(t), faultWithOurs(t)
	if theirs.refused != 0 || theirs.second >= theirs.first {
		t.Errorf("redsync: %+v: want both to hold the lock", theirs)
	}
	if ours.refused == 0 || ours.second <= ours.first {
		t.Errorf("redquorum: %+v: want the second refused until the first has stopped", ours)
	}
	if *drawPicture {
		if err := os.WriteFile(samePicture, []byte(pictureOf(theirs, ours)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	drawn, err := os.ReadFile(samePicture)
	if err != nil {
		t.Fatal(err)
	}
	// What it shows has to be what this run has shown, at other instants.
	var a, b course
	_, facts, _ := strings.Cut(string(drawn), "<desc>")
	if _, err := fmt.Sscanf(facts, "redsync %f %f %f; redquorum %f %f %f</desc>",
		&a.first, &a.refused, &a.second, &b.first, &b.refused, &b.second); err != nil {
		t.Fatalf("the picture does not say what it shows: %v", err)
	}
	if pictureOf(a, b) != string(drawn) || a.second >= a.first || b.second <= b.first {
		t.Errorf("the picture is not of such a run: go test ./test/integration -run %s -picture", t.Name())
	}
}

// sinceIn is how far a course is, in seconds as the picture says them.
func sinceIn(began time.Time) float64 { return seconds(time.Since(began)) }

func seconds(d time.Duration) float64 { return d.Round(10 * time.Millisecond).Seconds() }

// threeRestartEmpty is the fault, at its time.
func (p *processes) threeRestartEmpty(began time.Time) {
	p.t.Helper()
	time.Sleep(time.Until(began.Add(faultAfter)))
	p.kill(0, 1, 2)
	p.restart(0, 1, 2)
	time.Sleep(time.Until(began.Add(askedAfter)))
}

func faultWithRedsync(t *testing.T) (c course) {
	t.Helper()
	p := startProcesses(t, five)
	began := time.Now()
	first := theirs(p.openRedsync(), "lock", redsync.WithExpiry(sameTTL))
	mustLockTheirs(t, first)
	c.first = seconds(first.Until().Sub(began))
	p.threeRestartEmpty(began)
	second := theirs(p.openRedsync(), "lock", redsync.WithExpiry(sameTTL))
	if err := second.Lock(); err != nil {
		c.refused = sinceIn(began)
	}
	c.second = sinceIn(began)
	p.each(func(i int) { p.do(i, "DEL", "lock") })
	return c
}

func faultWithOurs(t *testing.T) (c course) {
	t.Helper()
	p := startProcesses(t, five)
	options := []redlock.Option{redlock.WithTTL(sameTTL), redlock.WithMaxTTL(sameTTL), redlock.WithOutageWait(closeBound + sameTTL)}
	holder, other := p.open(options...), p.open(options...)
	began := time.Now()
	first := mustTry(t, holder, "lock")
	stopped := make(chan float64, 1)
	go func() {
		<-first.Context().Done()
		stopped <- sinceIn(began)
	}()
	p.threeRestartEmpty(began)
	_, err := other.TryLock(context.Background(), "lock")
	c.refused = sinceIn(began)
	if abstains, ok := errors.AsType[*redlock.AbstainError](err); !ok {
		t.Errorf("the second client got %v: want masters that may not vote", err)
	} else {
		t.Logf("at %.1f s: %v", c.refused, abstains)
	}
	second, err := other.Lock(context.Background(), "lock")
	if err != nil {
		t.Fatal(err)
	}
	c.second, c.first = sinceIn(began), <-stopped
	mustUnlock(t, second)
	return c
}

// pictureOf draws both courses on one time line, redsync above.
func pictureOf(theirs, ours course) string {
	const left, perSecond, last = 96.0, 104.0, 7
	x := func(seconds float64) float64 { return left + perSecond*seconds }
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 330" width="860" height="330" role="img">` + "\n")
	b.WriteString("<title>Three of five masters restart without their data while a lock is held: redsync grants it twice, redquorum refuses it until the first holder has stopped</title>\n")
	fmt.Fprintf(&b, "<desc>redsync %.2f %.2f %.2f; redquorum %.2f %.2f %.2f</desc>\n", theirs.first, theirs.refused, theirs.second, ours.first, ours.refused, ours.second)
	b.WriteString(`<style>
text { font: 14px system-ui, sans-serif; fill: #1f2328 } .small { font-size: 12px; fill: #59636e } .head { font-weight: bold }
.in { fill: #fff } .holds { fill: #1a7f37 } .both { fill: #cf222e } .waits { fill: #d0d7de } .line { stroke: #59636e } .fault { stroke: #cf222e; stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .small { fill: #9198a1 } .in { fill: #fff } .holds { fill: #238636 } .both { fill: #da3633 } .waits { fill: #3d444d } }
</style>
`)
	text := func(at float64, y int, class, s string) {
		fmt.Fprintf(&b, "<text x=\"%.0f\" y=\"%d\" class=\"%s\">%s</text>\n", at, y, class, s)
	}
	bar := func(class string, from, to float64, y int, label string) {
		fmt.Fprintf(&b, "<rect x=\"%.0f\" y=\"%d\" width=\"%.0f\" height=\"24\" rx=\"4\" class=\"%s\"/>\n", x(from), y, perSecond*(to-from), class)
		inside := "in"
		if class == "waits" {
			inside = ""
		}
		text(x(from)+8, y+17, inside, label)
	}
	text(x(faultAfter.Seconds())+6, 18, "small", "three of five masters restart without their data")
	text(8, 44, "head", "redsync")
	text(8, 73, "", "client A")
	bar("holds", 0, theirs.first, 56, "holds the lock")
	text(8, 105, "", "client B")
	bar("both", theirs.second, theirs.first, 88, "granted as well: two hold it")
	bar("holds", theirs.first, theirs.second+theirs.first, 88, "")
	text(8, 164, "head", "redquorum")
	text(8, 193, "", "client A")
	bar("holds", 0, ours.first, 176, "holds the lock")
	text(x(ours.first)+8, 193, "", "told to stop")
	text(8, 225, "", "client B")
	bar("waits", ours.refused, ours.second, 208, fmt.Sprintf("refused: three masters may not vote before %.1f s", ours.second))
	bar("holds", ours.second, last, 208, "granted")
	fmt.Fprintf(&b, "<path d=\"M%.0f 8V262\" class=\"fault\"/>\n<path d=\"M%.0f 262H%.0f\" class=\"line\"/>\n", x(faultAfter.Seconds()), x(0), x(last))
	for s := range last + 1 {
		fmt.Fprintf(&b, "<path d=\"M%.0f 262v5\" class=\"line\"/>\n", x(float64(s)))
		text(x(float64(s))-8, 284, "small", fmt.Sprintf("%d s", s))
	}
	text(8, 316, "small", "Five redis-servers, a TTL of 4 s. Drawn from a run of both libraries by a test that fails where it ends otherwise.")
	b.WriteString("</svg>\n")
	return b.String()
}
