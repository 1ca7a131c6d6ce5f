package guard

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/drift"
)

func TestBadConfigurationIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		change func(c *Config)
		want   []string // none: valid
	}{
		"as it is":              {func(*Config) {}, nil},
		"off":                   {func(c *Config) { c.Level = Off }, nil},
		"shortest":              {func(c *Config) { c.MaxTTL = 20 * time.Millisecond }, nil},
		"shortest in strict":    {func(c *Config) { c.Level, c.MaxTTL = Strict, time.Second }, nil},
		"longest":               {func(c *Config) { c.MaxTTL = 365 * 24 * time.Hour }, nil},
		"level":                 {func(c *Config) { c.Level = 3 }, []string{"Level(3)", "strict"}},
		"too short":             {func(c *Config) { c.MaxTTL = 19 * time.Millisecond }, []string{"MaxTTL", "19ms", "20ms"}},
		"too short for strict":  {func(c *Config) { c.Level, c.MaxTTL = Strict, 999*time.Millisecond }, []string{"999ms", "[1s", "strict"}},
		"too long":              {func(c *Config) { c.MaxTTL = math.MaxInt64 / 1e6 * 1e6 }, []string{"MaxTTL", "8760h"}},
		"no whole milliseconds": {func(c *Config) { c.MaxTTL++ }, []string{"MaxTTL", "whole milliseconds"}},
		"no masters":            {func(c *Config) { c.Masters = 0 }, []string{"Masters is 0", "[1, 1000]"}},
		"too many masters":      {func(c *Config) { c.Masters = 1001 }, []string{"Masters is 1001"}},
		"negative skew":         {func(c *Config) { c.ClientSkew = -1 }, []string{"ClientSkew is -1ns", "0s"}},
		"drift":                 {func(c *Config) { c.Drift.Factor = 1 }, []string{"Policy.Factor"}},
	} {
		c := config(Standard)
		test.change(&c)
		err := c.Validate()
		if (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want it to name %s", name, err, want)
			}
		}
	}
}

func TestTheQuarantineOutlastsEveryLockThatMayBeForgotten(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	exact := drift.Policy{}
	for name, test := range map[string]struct {
		c    Config
		want time.Duration
	}{
		"standard":      {Config{Level: Standard, MaxTTL: 60 * s, Drift: drift.Default}, 60*s + 600*ms + 2*ms + margin},
		"exact clocks":  {Config{Level: Standard, MaxTTL: 60 * s, Drift: exact}, 60*s + margin},
		"strict":        {Config{Level: Strict, MaxTTL: 60 * s, Drift: exact}, 60*s + margin + 2*500*ms},
		"strict, short": {Config{Level: Strict, MaxTTL: 2 * s, Drift: exact}, 2*s + margin + 2*200*ms},
		"clients' skew": {Config{Level: Standard, MaxTTL: 10 * s, Drift: exact, ClientSkew: 60 * s},
			10*s + 60*s + margin + 2*500*ms},
		"clients' skew, drift": {Config{Level: Standard, MaxTTL: 10 * s, Drift: drift.Default, ClientSkew: 60 * s},
			10*s + 60*s + 700*ms + 2*ms + margin + 2*500*ms},
		"clients' skew, strict": {Config{Level: Strict, MaxTTL: 2 * s, Drift: exact, ClientSkew: s}, 2*s + s + margin + 2*200*ms},
	} {
		if got := test.c.Quarantine(); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	longest := Config{
		Level: Strict, MaxTTL: maxMaxTTL, Masters: 1, Drift: drift.Policy{Factor: 0.5, Floor: time.Minute},
		ClientSkew: maxMaxTTL,
	}
	if err := longest.Validate(); err != nil || longest.Quarantine() < maxMaxTTL {
		t.Errorf("the longest quarantine is %v (%v)", longest.Quarantine(), err)
	}
}
