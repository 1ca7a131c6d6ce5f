package chaos

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// An Action is what is done to a master.
type Action string

// The actions, as scripts name them.
const (
	Kill    Action = "kill"    // as SIGKILL does
	Restart Action = "restart" // with its data
	Empty   Action = "empty"   // restart without its data
	Freeze  Action = "freeze"  // as SIGSTOP does
	Thaw    Action = "thaw"
	Cut     Action = "cut" // off from all contenders
	Heal    Action = "heal"
	Skew    Action = "skew" // set its clock off
	End     Action = "end"  // of the run; concerns no master
)

// actions in the order in which they are listed to people.
var actions = []Action{Kill, Restart, Empty, Freeze, Thaw, Cut, Heal, Skew, End}

// A Fault is an action on masters, at a time.
type Fault struct {
	At      time.Duration // since the start
	Action  Action
	Masters []int         // from 0; none for End
	Offset  time.Duration // of the clock, for Skew
}

// String is the fault as a script has it, without the time.
func (f Fault) String() string {
	text := string(f.Action)
	if len(f.Masters) > 0 {
		numbers := make([]string, len(f.Masters))
		for i, n := range f.Masters {
			numbers[i] = strconv.Itoa(n + 1)
		}
		text += " " + strings.Join(numbers, ",")
	}
	if f.Action == Skew {
		text += " " + signed(f.Offset)
	}
	return text
}

func signed(d time.Duration) string {
	if d > 0 {
		return "+" + d.String()
	}
	return d.String()
}

// done are the actions on a master in the past tense, but for Skew.
var done = map[Action]string{
	Kill: "killed", Restart: "restarted with its data", Empty: "restarted empty",
	Freeze: "frozen", Thaw: "thawed", Cut: "cut off", Heal: "reachable again",
}

// did is the fault in the past tense, of one master.
func (f Fault) did(master int) string {
	what := done[f.Action]
	if f.Action == Skew {
		what = "has its clock set off by " + signed(f.Offset)
		if f.Offset == 0 {
			what = "has its clock set right"
		}
	}
	return fmt.Sprintf("master %d %s", master+1, what)
}
