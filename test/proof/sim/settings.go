package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redquorum/redquorum/internal/chance"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/test/proof/history"
)

// same reports whether two settings are equal.
func (s settings) same(o settings) bool {
	return s.maxTTL == o.maxTTL && s.guard == o.guard && slices.Equal(s.urls, o.urls)
}

func (s settings) String() string {
	return fmt.Sprintf("%d masters, MaxTTL %v, %v", len(s.urls), s.maxTTL, s.guard)
}

// drawSettings draws a list that begins with the first master, a MaxTTL and a level. Of two such
// lists one contains the other.
func (w *world) drawSettings(d *dice) settings {
	return settings{
		urls:   w.urls[:[]int{1, 3, 3, 5, 5}[d.upTo(5)]],
		maxTTL: []time.Duration{w.p.TTL, 2 * w.p.TTL, w.p.MaxTTL}[d.upTo(3)],
		guard:  []redlock.GuardLevel{redlock.GuardStandard, redlock.GuardStrict}[d.upTo(2)],
	}
}

// changeSettings gives all clients other settings, one after the other while they are in use, and
// declares the fleet anew: before, between or after.
func (w *world) changeSettings(d *dice) {
	set, declared := w.drawSettings(d), d.upTo(len(w.clients)+1)
	w.trace.note("OPERATOR", "wants "+set.String())
	for i := range len(w.clients) + 1 {
		if i == declared {
			w.declare(set)
		}
		if i < len(w.clients) {
			w.clients[i].want(set)
			w.sleep(faultLane+settingsFault, d.between(0, w.p.TTL))
		}
	}
	w.sleep(faultLane+settingsFault, d.between(0, w.p.MaxTTL))
}

// declare is the operator's `redlock init --force`. It tries again if a master is down.
func (w *world) declare(set settings) {
	c := w.operator
	if err := c.open(set); err != nil {
		w.violated(history.Stuck, "the operator's client: "+err.Error())
		return
	}
	defer c.shut()
	for range 10 {
		ctx, cancel := context.WithTimeout(background, 5*time.Second)
		err := c.lock().InitForce(ctx)
		cancel()
		w.trace.detail("OPERATOR", "has declared "+set.String(), err)
		if err == nil {
			w.net.count(func(s *Stats) { s.Declared++ })
			return
		}
		w.sleep(faultLane+settingsFault, 100*time.Millisecond)
	}
}

// want sets the settings that a client is to have from its next call on.
func (c *client) want(set settings) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted = set
}

// conform closes the worker's client and opens it with the wanted settings, if it has others.
// It gives up leases that were left to expire.
func (k *worker) conform(call int) {
	c := k.c
	c.mu.Lock()
	set, as := c.wanted, c.set
	c.mu.Unlock()
	if set.urls == nil || set.same(as) {
		return
	}
	for _, a := range c.holds() {
		c.ended(a, "RESTARTS, and lets go of")
	}
	d := roll(k.w.seed, chance.HashText("conform"), uint64(c.index), uint64(call))
	crashes := d.one(3) // commands under way are lost
	for i := range k.w.nodes {
		if crashes {
			k.w.refuse(c.index, i, true)
		}
	}
	c.shut()
	for i := range k.w.nodes {
		if crashes {
			k.w.refuse(c.index, i, false)
		}
	}
	k.sleep(d.between(0, k.w.p.TTL/20))
	err := c.open(set)
	if err != nil {
		k.w.violated(history.Stuck, c.name+" cannot be opened: "+err.Error())
	}
	k.w.trace.detail(c.name, "IS OPENED with "+set.String(), err)
}

// unify gives all clients the same settings at the end, and declares them.
func (w *world) unify() {
	set := w.clients[0].set
	for _, c := range w.clients {
		c.want(set)
		w.worker(c, 0).conform(w.p.Calls)
	}
	w.declare(set)
}
