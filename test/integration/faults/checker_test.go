package faults

import (
	"testing"
	"time"
)

// The checks of a history must find the violations that they are for.

func grant(h *history, client int, token string, shared bool, fence uint64, from, to int) {
	at := func(ms int) instant { return instant(time.Duration(ms) * time.Millisecond) }
	h.add(client, event{Kind: eventGrant, Hold: token, Keys: []string{"key"}, Shared: shared, At: at(from), Until: at(to), Fence: fence})
}

func TestTheCheckFindsTwoHoldersAtATime(t *testing.T) {
	for _, test := range []struct {
		name  string
		build func(h *history)
		want  int
	}{
		{"one after the other", func(h *history) {
			grant(h, 0, "a", false, 0, 1, 5)
			grant(h, 1, "b", false, 0, 5, 9)
		}, 0},
		{"two at a time", func(h *history) {
			grant(h, 0, "a", false, 0, 1, 5)
			grant(h, 1, "b", false, 0, 4, 9)
		}, 1},
		{"within a long one, behind a short one", func(h *history) {
			grant(h, 0, "a", false, 0, 1, 50)
			grant(h, 1, "b", false, 0, 2, 3)
			grant(h, 1, "c", false, 0, 10, 11)
		}, 2},
		{"released before its validity was over", func(h *history) {
			grant(h, 0, "a", false, 0, 1, 50)
			h.add(0, event{Kind: eventEnd, Hold: "a", At: instant(4 * time.Millisecond)})
			grant(h, 1, "b", false, 0, 4, 9)
		}, 0},
		{"renewed, and never ended, by a client that was killed", func(h *history) {
			grant(h, 0, "a", false, 0, 1, 5)
			h.add(0, event{Kind: eventUntil, Hold: "a", Until: instant(20 * time.Millisecond)})
			grant(h, 1, "b", false, 0, 10, 19)
		}, 1},
		{"over when it was told, by a client that was frozen", func(h *history) {
			grant(h, 0, "a", false, 0, 1, 50)
			grant(h, 1, "b", false, 0, 9, 9)
		}, 0},
		{"readers", func(h *history) {
			grant(h, 0, "a", true, 0, 1, 50)
			grant(h, 1, "b", true, 0, 2, 40)
			grant(h, 1, "c", false, 0, 50, 60)
		}, 0},
		{"a writer beside the first of two readers", func(h *history) {
			grant(h, 0, "a", true, 0, 1, 50)
			grant(h, 1, "b", true, 0, 2, 4)
			grant(h, 1, "c", false, 0, 10, 60)
		}, 1},
		{"a reader beside a writer", func(h *history) {
			grant(h, 0, "a", false, 0, 1, 50)
			grant(h, 1, "b", true, 0, 49, 60)
		}, 1},
	} {
		h := newHistory()
		test.build(h)
		if found := h.overlaps(); len(found) != test.want {
			t.Errorf("%s: found %q, want %d", test.name, found, test.want)
		}
	}
}

func TestTheCheckFindsTokensThatDoNotRise(t *testing.T) {
	for _, test := range []struct {
		first, second uint64
		want          int
	}{{7, 8, 0}, {7, 7, 1}, {7, 6, 1}} {
		h := newHistory()
		grant(h, 0, "a", false, test.first, 1, 5)
		grant(h, 1, "reader", true, test.first, 5, 6)
		grant(h, 2, "late", false, 1, 6, 6) // over when it was reported
		grant(h, 1, "b", false, test.second, 6, 9)
		if found := h.fallen(); len(found) != test.want {
			t.Errorf("%d, %d: found %q, want %d", test.first, test.second, found, test.want)
		}
	}
}

func TestTheRegisterFindsLostUpdatesAndRefusesOldTokens(t *testing.T) {
	r := &register{cells: map[string]*cell{}}
	read := func(fence uint64, owner string) answer {
		return r.handle(request{Key: "key", Fence: fence, Owner: owner})
	}
	write := func(fence uint64, owner string, value uint64) bool {
		return r.handle(request{Key: "key", Write: true, Value: value, Fence: fence, Owner: owner}).Accepted
	}
	a := read(5, "a")
	b := read(6, "b")
	if !write(6, "b", b.Value+1) || write(5, "a", a.Value+1) || write(6, "other", 9) {
		t.Error("want the newest token accepted, of its owner alone, and the older one refused")
	}
	if lost, writes := r.lost(); lost != 0 || writes != 1 || r.rejected != 2 {
		t.Errorf("%d lost of %d, %d rejected: want none of one, 2 rejected", lost, writes, r.rejected)
	}
	first, second := read(0, ""), read(0, "")
	write(0, "", first.Value+1)
	write(0, "", second.Value+1)
	if lost, _ := r.lost(); lost != 1 {
		t.Errorf("%d updates are lost, want 1", lost)
	}
}

func TestTheCheckFindsOperationsBeyondTheirBound(t *testing.T) {
	const client, frozen = 0, 1
	for _, test := range []struct {
		name   string
		client int
		op     event
		took   time.Duration
		paused bool // the machine stood still for the client meanwhile
		want   int
	}{
		{"an attempt in time", client, event{Op: opLock}, commandTimeout + lateness, false, 0},
		{"an attempt that took longer", client, event{Op: opLock}, commandTimeout + lateness + 1, false, 1},
		{"a release that took longer", client, event{Op: opUnlock}, commandTimeout + lateness + 1, false, 1},
		{"a wait", client, event{Op: opWait}, waitBound, false, 0},
		{"a wait that outlasted its context", client, event{Op: opWait}, waitBound + lateness + 1, false, 1},
		{"of a client that was frozen", frozen, event{Op: opLock}, waitBound, false, 0},
		{"on a machine that stood still", client, event{Op: opLock}, waitBound, true, 0},
		{"of another library", client, event{Op: opUnlock, Do: doForeign}, waitBound, false, 0},
	} {
		r := &run{
			T: t, history: newHistory(), specs: make([]spec, 2), children: []*child{{}, {stopped: true}},
			troubled: map[int]bool{}, standstills: map[instant]bool{},
		}
		e := test.op
		e.Kind, e.At, e.End = eventOp, 1, instant(1).add(test.took)
		r.history.add(test.client, e)
		if test.paused {
			r.history.add(test.client, event{Kind: eventSlow, At: 2, End: 3})
		}
		if found := r.late(); len(found) != test.want {
			t.Errorf("%s: found %v, want %d", test.name, found, test.want)
		}
	}
}

// Releases delete their keys. On masters that were stopped for longer than a release is kept, keys
// expire by their TTL.
func TestTheCheckKnowsWhenAMasterMustBeClean(t *testing.T) {
	const frozen, other, fault = 0, 1, instant(1)
	for _, test := range []struct {
		name   string
		master int
		stop   time.Duration
		clean  time.Duration // after the masters go on, if the clients end then
	}{
		{"stopped for as long as a release is kept", frozen, rowTTL, lateness},
		{"stopped for longer", frozen, rowTTL + 1, rowTTL + lateness},
		{"never stopped", other, rowTTL + 1, lateness},
	} {
		r := &run{litter: lateness, stopped: map[int]bool{frozen: true}, faultAt: fault, backAt: fault.add(test.stop)}
		if got := r.cleanBy(test.master, r.backAt).sub(r.backAt); got != test.clean {
			t.Errorf("%s: %v, want %v", test.name, got, test.clean)
		}
		if late := r.backAt.add(time.Minute); r.cleanBy(test.master, late) != late.add(lateness) {
			t.Errorf("%s: a minute later it is not as usual", test.name)
		}
	}
}
