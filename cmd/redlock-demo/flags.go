package main

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
	"github.com/redquorum/redquorum/redlock"
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
	flags.StringArrayVar(&f.masters, "masters", nil, "comma-separated `urls` of the masters: redis://, rediss:// or unix:// (default $"+mastersVariable+")")
	flags.StringVar(&f.config, "config", "", "`file` with the masters and how to reach them; flags and the environment come first; lines such as masters = url,url, or masters = NAME=url,url for each of several fleets (default $"+configVariable+")")
	flags.Var(durationFlag(&f.ttl), "ttl", "how long the masters keep a lock after its holder stops renewing it, 20ms to 1m")
	flags.Var(orZero(rangeFlag(&f.maxTTL, demo.MinTTL, 24*time.Hour)), "max-ttl",
		"longest TTL of any lock on the masters; all clients need the same value; a restarted master does not vote for this long; 0 means 1m, and --ttl on masters that demo starts")
	flags.Var(rangeFlag(&f.skew, 0, 24*time.Hour), "client-skew",
		"how far clients' clocks may differ; within that fencing tokens always rise; all clients need the same value; a restarted master does not vote for this much longer")
	flags.BoolVar(&f.json, "json", false, "print one JSON document and nothing else")
	flags.BoolVar(&f.noColor, "no-color", false, "print no colours, as with NO_COLOR; output that is not a terminal never has any")
	return all
}

// A typed is the value of a flag: a variable, and how text becomes a value of it.
type typed[T any] struct {
	p     *T
	kind  string // what the help calls it
	parse func(string) (T, error)
}

func (f *typed[T]) String() string { return fmt.Sprint(*f.p) }
func (f *typed[T]) Type() string   { return f.kind }

func (f *typed[T]) Set(s string) error {
	v, err := f.parse(s)
	if err == nil {
		*f.p = v
	}
	return err
}

// numberFlag is a whole number in a range.
func numberFlag(p *int, low, high int) *typed[int] {
	return &typed[int]{p, "n", func(s string) (int, error) {
		v, err := strconv.Atoi(s)
		if err != nil || v < low || v > high {
			return 0, fmt.Errorf("want a whole number from %d to %d", low, high)
		}
		return v, nil
	}}
}

// seedFlag is any number of 64 bits.
func seedFlag(p *uint64) *typed[uint64] {
	return &typed[uint64]{p, "n", func(s string) (uint64, error) {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("want a whole number from 0 to %d", uint64(math.MaxUint64))
		}
		return v, nil
	}}
}

// durationFlag is a duration; whoever uses it knows its range.
func durationFlag(p *time.Duration) *typed[time.Duration] {
	return &typed[time.Duration]{p, "duration", func(s string) (time.Duration, error) {
		v, err := time.ParseDuration(s)
		if err != nil {
			return 0, errors.New("want a duration such as 500ms or 2s")
		}
		return v, nil
	}}
}

// rangeFlag is a duration in a range.
func rangeFlag(p *time.Duration, low, high time.Duration) *typed[time.Duration] {
	return &typed[time.Duration]{p, "duration", func(s string) (time.Duration, error) {
		v, err := time.ParseDuration(s)
		if err != nil || v < low || v > high {
			return 0, fmt.Errorf("want a duration from %v to %v, such as 500ms or 2s", low, high)
		}
		return v, nil
	}}
}

// orZero is a rangeFlag where 0 means something, too.
func orZero(f *typed[time.Duration]) *typed[time.Duration] {
	inRange := f.parse
	f.parse = func(s string) (time.Duration, error) {
		if v, err := time.ParseDuration(s); err == nil && v == 0 {
			return 0, nil
		}
		v, err := inRange(s)
		if err != nil {
			err = errors.New(strings.Replace(err.Error(), "want ", "want 0 or ", 1))
		}
		return v, err
	}
	return f
}

// registerChoice adds a flag that is one of several words, which the shell knows. The help
// calls it kind.
func registerChoice(cmd *cobra.Command, name, kind string, p *string, choices []string, usage string) {
	cmd.Flags().Var(&typed[string]{p, kind, func(s string) (string, error) {
		if !slices.Contains(choices, s) {
			last := len(choices) - 1
			return "", fmt.Errorf("want %s or %s", strings.Join(choices[:last], ", "), choices[last])
		}
		return s, nil
	}}, name, usage)
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
}

// guardLevels are the guard levels, by the names that --guard has for them.
var guardLevels = map[string]redlock.GuardLevel{
	"off": redlock.GuardOff, "standard": redlock.GuardStandard, "strict": redlock.GuardStrict,
}

// registerGuard adds --guard to a command.
func registerGuard(cmd *cobra.Command, p *string) {
	registerChoice(cmd, "guard", "level", p, []string{"off", "standard", "strict"}, "what a master has to prove before its vote counts: off, standard or strict; all clients need the same level (default standard)")
}

// guardOption is the library's option for a level; nil for its default.
func guardOption(level string) []redlock.Option {
	if level == "" {
		return nil
	}
	return []redlock.Option{redlock.WithGuard(guardLevels[level])}
}

// fleetOptions are the library's for what all clients of the masters have to
// agree on: a guard level, "" for the library's default, the longest TTL, and by how
// much their clocks may differ.
func (f *sharedFlags) fleetOptions(level string) []redlock.Option {
	opts := guardOption(level)
	if f.maxTTL != 0 {
		opts = append(opts, redlock.WithMaxTTL(f.maxTTL))
	}
	if f.skew != 0 {
		opts = append(opts, redlock.WithClientSkew(f.skew))
	}
	return opts
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
