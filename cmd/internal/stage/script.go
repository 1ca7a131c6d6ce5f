package stage

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tour is the script that shows everything once; it needs five masters that
// take all faults.
//
//go:embed tour.txt
var Tour string

// Bounds of a script.
const (
	maxLines  = 10_000
	maxAt     = 24 * time.Hour
	maxOffset = 24 * time.Hour
)

// Parse reads a script for a number of masters: a fault a line, at a time since
// the start that does not go back, as in
//
//	2s    kill 1
//	4.5s  freeze 2,3   # several at once
//	8s    skew 4 -60s
//	10s   end
//
// What follows a # is a comment. Errors name the line.
func Parse(r io.Reader, masters int) ([]Fault, error) {
	var faults []Fault
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		if n > maxLines {
			return nil, fmt.Errorf("more than %d lines", maxLines)
		}
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		f, err := parseLine(words, masters)
		if err == nil && len(faults) > 0 {
			switch last := faults[len(faults)-1]; {
			case last.Action == End:
				err = errors.New("a line follows the line of end")
			case f.At < last.At:
				err = fmt.Errorf("%v is before %v: want times since the start that do not go back", f.At, last.At)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		faults = append(faults, f)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(faults) == 0 {
		return nil, errors.New("it holds no faults: want lines such as 2s kill 1")
	}
	return faults, nil
}

func parseLine(words []string, masters int) (Fault, error) {
	var f Fault
	if len(words) < 2 {
		return f, fmt.Errorf("%.40q: want a time and a fault, such as 2s kill 1", words[0])
	}
	at, err := time.ParseDuration(words[0])
	if err != nil || at < 0 || at > maxAt {
		return f, fmt.Errorf("%.40q: want a time since the start up to %v, such as 500ms or 2s", words[0], maxAt)
	}
	f.At, f.Action = at, Action(words[1])
	if !slices.Contains(actions, f.Action) {
		return f, fmt.Errorf("%.40q: want %s", words[1], listed(actions))
	}
	wanted := map[Action]int{End: 2, Skew: 4}[f.Action]
	if wanted == 0 {
		wanted = 3
	}
	if len(words) != wanted {
		return f, fmt.Errorf("%s: want %s", f.Action, map[int]string{
			2: "nothing behind it", 3: "the master's number behind it, or several as in 1,2", 4: "the master's number and the offset behind it, as in skew 1 60s",
		}[wanted])
	}
	if wanted > 2 {
		if f.Masters, err = parseMasters(words[2], masters); err != nil {
			return f, err
		}
	}
	if f.Action == Skew {
		f.Offset, err = time.ParseDuration(words[3])
		if err != nil || f.Offset.Abs() > maxOffset {
			return f, fmt.Errorf("skew by %.40q: want an offset up to %v either way, such as 60s or -1h", words[3], maxOffset)
		}
	}
	return f, nil
}

func parseMasters(text string, masters int) ([]int, error) {
	if text == "all" {
		all := make([]int, masters)
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	var numbers []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > masters {
			return nil, fmt.Errorf("master %.40q: want 1 to %d, or all", part, masters)
		}
		if slices.Contains(numbers, n-1) {
			return nil, fmt.Errorf("master %d is named twice", n)
		}
		numbers = append(numbers, n-1)
	}
	return numbers, nil
}

func listed(list []Action) string {
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = string(a)
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

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
