package app

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/redquorum/redquorum/cmd/internal/term"
	"github.com/redquorum/redquorum/redlock"
)

// minTTL is the shortest TTL of a lock.
const minTTL = 20 * time.Millisecond

// The range of how long a command may wait. The minimum leaves time for one attempt.
const (
	MinWait = 100 * time.Millisecond
	MaxWait = 30 * 24 * time.Hour
)

// MastersVariable is the environment variable with the masters, without --masters.
const MastersVariable = "REDLOCK_MASTERS"

// ConfigVariable is the environment variable with the configuration file, without --config.
const ConfigVariable = "REDLOCK_CONFIG"

// SharedFlags are the flags that mean the same to every command.
type SharedFlags struct {
	Masters []string // one value for each time that the flag was given
	Config  string
	MaxTTL  time.Duration // 0: not given
	Skew    time.Duration // of clients' clocks
	JSON    bool
}

// SharedNames are the names of the shared flags.
var SharedNames = []string{"masters", "config", "max-ttl", "client-skew", "json"}

// Register adds the named shared flags to a command.
func (f *SharedFlags) Register(cmd *cobra.Command, names ...string) {
	flags := cmd.Flags()
	for _, name := range names {
		switch name {
		case "masters":
			flags.StringArrayVar(&f.Masters, name, nil,
				"comma-separated `urls` of the masters: redis://, rediss:// or unix:// "+
					"(default $"+MastersVariable+")")
		case "config":
			flags.StringVar(&f.Config, name, "",
				"`file` with lines such as masters = url,url; "+
					"flags and the environment come first (default $"+ConfigVariable+")")
			_ = cmd.MarkFlagFilename(name) // for the completion; the flag exists
		case "max-ttl":
			flags.Var(OrZero(RangeFlag(&f.MaxTTL, minTTL, 24*time.Hour)), name,
				"longest TTL of any lock on the masters; all clients need the same value; "+
					"a restarted master does not vote for this long; "+
					"0 means 1m, and --ttl on masters that demo starts")
		case "client-skew":
			flags.Var(RangeFlag(&f.Skew, 0, 24*time.Hour), name,
				"how far clients' clocks may differ; within that fencing tokens always rise; "+
					"all clients need the same value; "+
					"a restarted master does not vote for this much longer")
		case "json":
			flags.BoolVar(&f.JSON, name, false, "print one JSON document and nothing else")
		}
	}
}

// A typed is the value of a flag: a variable, and the parser of its text.
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

// NumberFlag is a whole number in a range.
func NumberFlag(p *int, low, high int) *typed[int] {
	return &typed[int]{p, "n", func(s string) (int, error) {
		v, err := strconv.Atoi(s)
		if err != nil || v < low || v > high {
			return 0, fmt.Errorf("want a whole number from %d to %d", low, high)
		}
		return v, nil
	}}
}

// parseDuration reads 500ms, 2s and 1h; a number alone is seconds, as in flock.
func parseDuration(s string) (time.Duration, error) {
	if n, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(n) < maxWaitSeconds {
		return time.Duration(n * float64(time.Second)), nil
	}
	return time.ParseDuration(s)
}

// maxWaitSeconds is above the maximum of every flag, and small enough not to overflow a duration.
const maxWaitSeconds = 1e9

// RangeFlag is a duration in a range.
func RangeFlag(p *time.Duration, low, high time.Duration) *typed[time.Duration] {
	return &typed[time.Duration]{p, "duration", func(s string) (time.Duration, error) {
		v, err := parseDuration(s)
		if err != nil || v < low || v > high {
			return 0, fmt.Errorf("want a duration from %v to %v, such as 500ms or 2s", low, high)
		}
		return v, nil
	}}
}

// OrZero lets a RangeFlag accept 0, too.
func OrZero(f *typed[time.Duration]) *typed[time.Duration] {
	inRange := f.parse
	f.parse = func(s string) (time.Duration, error) {
		if v, err := parseDuration(s); err == nil && v == 0 {
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

// RegisterChoice adds a flag whose value is one of choices, which the shell completes. The
// help calls the value kind.
func RegisterChoice(cmd *cobra.Command, name, kind string, p *string, choices []string, usage string) {
	cmd.Flags().Var(&typed[string]{p, kind, func(s string) (string, error) {
		if !slices.Contains(choices, s) {
			last := len(choices) - 1
			return "", fmt.Errorf("want %s or %s", strings.Join(choices[:last], ", "), choices[last])
		}
		return s, nil
	}}, name, usage)
	complete := cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc(name, complete) // the flag exists
}

// FleetOptions returns the library's options on which all clients of the masters have to agree:
// the guard level ("" for the library's default), the longest TTL, and by how much clients'
// clocks may differ.
func (f *SharedFlags) FleetOptions(level string) (opts []redlock.Option) {
	if level != "" {
		opts = append(opts, redlock.WithGuard(redlock.GuardLevel(level)))
	}
	if f.MaxTTL != 0 {
		opts = append(opts, redlock.WithMaxTTL(f.MaxTTL))
	}
	if f.Skew != 0 {
		opts = append(opts, redlock.WithClientSkew(f.Skew))
	}
	return opts
}

// FlagError shortens an error of the flag package, and suggests the flag that was meant.
func FlagError(cmd *cobra.Command, err error) error {
	text := err.Error()
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		text = fmt.Sprintf("--%s %q: %v", invalid.GetFlag().Name, invalid.GetValue(), invalid.Unwrap())
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		flags := &cobra.Command{SuggestionsMinimumDistance: 2} // cobra suggests similar names of commands only
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			flags.AddCommand(&cobra.Command{Use: "--" + f.Name, Run: func(*cobra.Command, []string) {}})
		})
		text += meant(flags, "--"+unknown.GetSpecifiedName())
	}
	text = strings.Replace(text, "strconv.ParseBool: parsing", "want true or false, not", 1)
	text = strings.Replace(text, ": invalid syntax", "", 1)
	return Usagef("%s (see %s --help)", term.Visible(text), cmd.CommandPath())
}

// DefaultMaxTTL is the library's default of WithMaxTTL.
const DefaultMaxTTL = time.Minute
