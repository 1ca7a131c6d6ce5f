package waitqueue

import (
	"slices"
	"testing"

	"github.com/redquorum/redquorum/internal/wakeup"
)

// The entry of a client is that of all its calls: it is removed behind the last of them.
func TestTheLastReaderOfAClientRemovesItsEntry(t *testing.T) {
	f := &fake{}
	var r readers
	place := wakeup.Call{Master: 1, Key: "key"}
	r.join(place)
	r.join(place)
	r.pass(f, place)
	r.leave(f, place)
	r.leave(f, place)
	r.pass(f, place)
	r.join(place)
	r.leave(f, place)
	want := []string{
		"leave readers 1 key true", "leave readers 1 key true", "leave readers 1 key false", "leave readers 1 key false",
		"leave readers 1 key false",
	}
	if !slices.Equal(f.did, want) {
		t.Errorf("it did %q, want %q", f.did, want)
	}
	if len(r.at) != 0 {
		t.Errorf("%v is kept", r.at)
	}
}

// All that wait are called, and one that has left is not.
func TestAllReadersOfAClientAreCalled(t *testing.T) {
	f := &fake{}
	r := New(Config{Masters: make([]Master, 2)})
	r.SetQueues(f)
	name := wakeup.ForAll + "key"
	one, two, gone := r.hub.Wait(name), r.hub.Wait(name), r.hub.Wait(name)
	gone.Leave()
	r.passOn(1, name)
	if len(one.Woken()) != 1 || len(two.Woken()) != 1 || len(gone.Woken()) != 0 {
		t.Errorf("called %d, %d and %d times, want 1, 1 and 0", len(one.Woken()), len(two.Woken()), len(gone.Woken()))
	}
	one.Leave()
	two.Leave()
	if r.passOn(1, name); !slices.Equal(f.did, []string{"leave readers 1 key false"}) {
		t.Errorf("nobody waits any more: it did %q", f.did)
	}
}

// Two readers of a client do not stand in one line: neither waits for the other.
func TestReadersStandInNoLine(t *testing.T) {
	r := New(Config{Masters: make([]Master, 1)})
	one, two := r.lines.join(r.line(&readWanted)), r.lines.join(r.line(&readWanted))
	defer one.leave()
	defer two.leave()
	for i, p := range []*place{one, two} {
		if first, _ := p.state(); !first {
			t.Errorf("number %d is not first", i)
		}
	}
}
