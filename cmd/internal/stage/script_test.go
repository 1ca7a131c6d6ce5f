package stage

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAScriptIsRead(t *testing.T) {
	t.Parallel()
	faults, err := Parse(strings.NewReader("\n# nothing\n 2s\tkill 1 # the first\n2s freeze 2,5\n3s heal all\n9s skew 3 -1h\n10s end\n"), 5)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range faults {
		got = append(got, f.At.String()+" "+f.String())
	}
	want := []string{"2s kill 1", "2s freeze 2,5", "3s heal 1,2,3,4,5", "9s skew 3 -1h0m0s", "10s end"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAScriptThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                           "it holds no faults: want lines such as 2s kill 1",
		"# only words":               "it holds no faults: want lines such as 2s kill 1",
		"kill 1":                     `line 1: "kill": want a time since the start up to 24h0m0s, such as 500ms or 2s`,
		"2s":                         `line 1: "2s": want a time and a fault, such as 2s kill 1`,
		"-2s kill 1":                 `line 1: "-2s": want a time since the start up to 24h0m0s, such as 500ms or 2s`,
		"25h kill 1":                 `line 1: "25h": want a time since the start up to 24h0m0s, such as 500ms or 2s`,
		"\n2s shoot 1":               `line 2: "shoot": want kill, restart, empty, freeze, thaw, cut, heal, skew or end`,
		"2s kill":                    "line 1: kill: want the master's number behind it, or several as in 1,2",
		"2s kill 1 2":                "line 1: kill: want the master's number behind it, or several as in 1,2",
		"2s kill 6":                  `line 1: master "6": want 1 to 5, or all`,
		"2s kill 0":                  `line 1: master "0": want 1 to 5, or all`,
		"2s kill 1,":                 `line 1: master "": want 1 to 5, or all`,
		"2s kill 1,1":                "line 1: master 1 is named twice",
		"2s skew 1":                  "line 1: skew: want the master's number and the offset behind it, as in skew 1 60s",
		"2s skew 1 much":             `line 1: skew by "much": want an offset up to 24h0m0s either way, such as 60s or -1h`,
		"2s end 1":                   "line 1: end: want nothing behind it",
		"2s end\n3s kill 1":          "line 2: a line follows the line of end",
		"2s kill 1\n1s kill 2":       "line 2: 1s is before 2s: want times since the start that do not go back",
		strings.Repeat("#\n", 1e4+1): "more than 10000 lines",
	} {
		if _, err := Parse(strings.NewReader(text), 5); err == nil || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

func TestTheTourIsAScript(t *testing.T) {
	t.Parallel()
	faults, err := Parse(strings.NewReader(Tour), 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range actions {
		if !slices.ContainsFunc(faults, func(f Fault) bool { return f.Action == a }) {
			t.Errorf("the tour does not show %s", a)
		}
	}
	if last := faults[len(faults)-1]; last.At > 40*time.Second {
		t.Errorf("the tour takes %v", last.At)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Tour)
	f.Add("2s kill 1,2\n3s skew all -1h # x\n")
	f.Fuzz(func(t *testing.T, text string) {
		faults, err := Parse(strings.NewReader(text), 5)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r\x1b") {
				t.Errorf("not one line: %q", err.Error())
			}
			return
		}
		var again strings.Builder
		for _, fault := range faults {
			again.WriteString(fault.At.String() + " " + fault.String() + "\n")
		}
		twice, err := Parse(strings.NewReader(again.String()), 5)
		if err != nil || len(twice) != len(faults) {
			t.Errorf("%q is read as %q: %v", text, again.String(), err)
		}
	})
}
