package simmaster

import (
	"testing"
	"testing/synctest"
)

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
