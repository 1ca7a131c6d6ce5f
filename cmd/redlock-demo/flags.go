package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
)

// mastersVariable names the masters where --masters does not.
const mastersVariable = "REDLOCK_MASTERS"

// configVariable names the configuration file where --config does not.
const configVariable = "REDLOCK_CONFIG"

// sharedFlags are those that mean the same to every command.
type sharedFlags struct {
	masters []string // a list for each fleet
	config  string
	ttl     time.Duration
	maxTTL  time.Duration // 0: not given
	skew    time.Duration // of clients' clocks
	json    bool
	noColor bool
}

// heeds is the annotation of a command with the names of the shared flags that mean
// something to it; without it all do.
const heeds = "heeds"

// several is the annotation of a command that takes several fleets.
const several = "several"

// tolerated are the shared flags that a command takes though they mean nothing to it:
// there is nothing to be coloured, or it says itself why not. The help has them not.
var tolerated = []string{"no-color", "masters"}

// register adds to a command the shared flags that it heeds, but for those of its own.
func (f *sharedFlags) register(cmd *cobra.Command) {
	names, some := cmd.Annotations[heeds]
	all := f.all()
	for _, name := range sharedNames {
		flag := all.Flags().Lookup(name)
		heeded := !some || slices.Contains(strings.Fields(names), name)
		flag.Hidden = !heeded
		if _, ok := cmd.Annotations[several]; ok && name == "masters" {
			flag.Usage = mastersOfSeveral
		}
		if cmd.Flags().Lookup(name) == nil && (heeded || slices.Contains(tolerated, name)) {
			cmd.Flags().AddFlag(flag)
		}
	}
	_ = cmd.MarkFlagFilename("config") // for the completion, where the flag exists
}

// sharedNames are the names of the shared flags.
var sharedNames = []string{"masters", "config", "ttl", "max-ttl", "client-skew", "json", "no-color"}

// mastersOfSeveral is what --masters is to a command that takes several fleets.
const mastersOfSeveral = "comma-separated `urls` of the masters: redis://, rediss:// or unix://; for several fleets NAME=urls, one flag for each (default $" + mastersVariable + ")"

// all has all shared flags, and is no command to be run.
func (f *sharedFlags) all() *cobra.Command {
	all := &cobra.Command{}
	flags := all.Flags()
	flags.Var(&listsFlag{&f.masters}, "masters", "comma-separated `urls` of the masters: redis://, rediss:// or unix:// (default $"+mastersVariable+")")
	flags.StringVar(&f.config, "config", "", "`file` with the masters and how to reach them; flags and the environment come first; lines such as masters = url,url, or masters = NAME=url,url for each of several fleets (default $"+configVariable+")")
	flags.Var(&durationFlag{&f.ttl}, "ttl", "how long the masters keep a lock after its holder stops renewing it, 20ms to 1m")
	flags.Var(&rangeFlag{p: &f.maxTTL, low: demo.MinTTL, high: 24 * time.Hour, orZero: true}, "max-ttl",
		"longest TTL of any lock on the masters; all clients need the same value; a restarted master does not vote for this long; 0 means 1m, and --ttl on masters that demo starts")
	flags.Var(&rangeFlag{p: &f.skew, high: 24 * time.Hour}, "client-skew",
		"how far clients' clocks may differ; within that fencing tokens always rise; all clients need the same value; a restarted master does not vote for this much longer")
	flags.BoolVar(&f.json, "json", false, "print one JSON document and nothing else")
	flags.BoolVar(&f.noColor, "no-color", false, "print no colours, as with NO_COLOR; output that is not a terminal never has any")
	return all
}

// namedMasters is the list of masters, which there has to be.
func (f *sharedFlags) namedMasters(cmd *cobra.Command, a *app) ([]string, error) {
	urls, err := f.masterURLs(cmd.Flags().Changed("masters"), a.env)
	if err == nil && urls == nil {
		err = usagef("no masters are named: want --masters url,url,…, %s or --config file", mastersVariable)
	}
	return urls, err
}

// screen is the standard output, as what it is.
func (f *sharedFlags) screen(a *app) *demo.Screen {
	if f.json {
		return demo.Silent()
	}
	able := isTerminal(a.out) && a.env("TERM") != "dumb"
	if runtime.GOOS == "windows" && a.env("WT_SESSION") == "" {
		able = false // an old console shows control sequences as they are
	}
	colour := able && !f.noColor && a.env("NO_COLOR") == ""
	return demo.NewScreen(a.out, colour, able, func() int { return columnsOf(a.out) })
}

// columnsOf is how wide a terminal is.
func columnsOf(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// A numberFlag is a whole number in a range.
type numberFlag struct {
	p         *int
	low, high int
}

func (n *numberFlag) String() string { return strconv.Itoa(*n.p) }
func (n *numberFlag) Type() string   { return "n" }

func (n *numberFlag) Set(s string) error {
	v, err := strconv.Atoi(s)
	if err != nil || v < n.low || v > n.high {
		return fmt.Errorf("want a whole number from %d to %d", n.low, n.high)
	}
	*n.p = v
	return nil
}

// A seedFlag is any number of 64 bits.
type seedFlag struct{ p *uint64 }

func (f *seedFlag) String() string { return "" } // the default is random
func (f *seedFlag) Type() string   { return "n" }

func (f *seedFlag) Set(s string) error {
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return fmt.Errorf("want a whole number from 0 to %d", uint64(math.MaxUint64))
	}
	*f.p = v
	return nil
}

// A durationFlag is a duration; whoever uses it knows its range.
type durationFlag struct{ p *time.Duration }

func (f *durationFlag) String() string { return f.p.String() }
func (f *durationFlag) Type() string   { return "duration" }

func (f *durationFlag) Set(s string) error {
	v, err := time.ParseDuration(s)
	if err != nil {
		return errors.New("want a duration such as 500ms or 2s")
	}
	*f.p = v
	return nil
}

// A rangeFlag is a duration in a range, or 0 where that means something.
type rangeFlag struct {
	p         *time.Duration
	low, high time.Duration
	orZero    bool
}

func (f *rangeFlag) String() string { return f.p.String() }
func (f *rangeFlag) Type() string   { return "duration" }

func (f *rangeFlag) Set(s string) error {
	v, err := time.ParseDuration(s)
	if zero := f.orZero && v == 0; err != nil || !zero && (v < f.low || v > f.high) {
		zeroOr := ""
		if f.orZero {
			zeroOr = "0 or "
		}
		return fmt.Errorf("want %sa duration from %v to %v, such as 500ms or 2s", zeroOr, f.low, f.high)
	}
	*f.p = v
	return nil
}

// invalidArgument is how the flag package puts a value that was refused.
var invalidArgument = regexp.MustCompile(`^invalid argument ("(?:.*)") for "(?:-\w, )?(--[\w-]+)" flag: (.*)$`)

// flagError is the flag package's error in fewer words.
func flagError(cmd *cobra.Command, err error) error {
	text := invalidArgument.ReplaceAllString(err.Error(), "$2 $1: $3")
	text = strings.Replace(text, "strconv.ParseBool: parsing", "want true or false, not", 1)
	text = strings.Replace(text, ": invalid syntax", "", 1)
	return usagef("%s (see %s --help)", visible(text), cmd.CommandPath())
}

// visible is text with its control characters spelt out: the flag package repeats
// the names of flags as they were typed.
func visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsControl(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
