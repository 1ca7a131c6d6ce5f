package simmaster

import (
	"slices"
	"testing"
	"testing/synctest"
)

func TestAThawedGateLetsCommandsInInTheOrderOfTheirArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		g.freeze()
		var order []int
		dead := make(chan struct{})
		for i := range 20 {
			go func() {
				if g.enter(dead) {
					order = append(order, i)
					g.leave()
				}
			}()
			synctest.Wait()
		}
		equal(t, "waiting", g.waiting(), 20)
		g.thaw()
		synctest.Wait()
		if len(order) != 20 || !slices.IsSorted(order) {
			t.Fatalf("executed in the order %v", order)
		}
	})
}

func TestControlEntersAFrozenGateAndGoesBeforeCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		var order []string
		if !g.enter(nil) {
			t.Fatal("an open gate refused")
		}
		go func() { g.enter(nil); order = append(order, "command"); g.leave() }()
		synctest.Wait()
		frozen := false
		go func() { g.freeze(); frozen = true }()
		synctest.Wait()
		if frozen {
			t.Fatal("freeze did not wait for the command that was being executed")
		}
		go func() { g.enterControl(); order = append(order, "control"); g.leave() }()
		synctest.Wait()
		g.leave()
		synctest.Wait()
		equal(t, "while frozen", order, []string{"control"})
		equal(t, "frozen", frozen, true)
		g.thaw()
		synctest.Wait()
		equal(t, "after the thaw", order, []string{"control", "command"})
	})
}

func TestADeadConnectionLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		g.freeze()
		dead, alive := make(chan struct{}), make(chan struct{})
		got := make(chan bool, 2)
		go func() { got <- g.enter(dead) }()
		synctest.Wait()
		go func() { got <- g.enter(alive) }()
		synctest.Wait()
		close(dead)
		equal(t, "entered when dead", <-got, false)
		equal(t, "waiting", g.waiting(), 1)
		g.thaw()
		equal(t, "entered after the thaw", <-got, true)
		g.leave()
		equal(t, "a dead connection finds the gate open", g.enter(dead), false)
		equal(t, "a living one after it", g.enter(alive), true)
	})
}
