package app

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/redquorum/redquorum/cmd/internal/term"
)

// configured are the flags that a configuration file may give.
var configured = []string{"masters", "move-to", "moved-to", "user", "password-file", "tls-ca", "tls-cert", "tls-key", "guard", "max-ttl", "client-skew"}

// repeated are those of them that may be on several lines, as the flags may be given
// several times. They say nothing of other masters than the file's own.
var repeated = []string{"masters", "move-to", "moved-to"}

// OwnMasters marks a command that uses no masters of somebody else.
const OwnMasters = "own-masters"

// maxConfig is far above any configuration; what is longer is another file.
const maxConfig = 64 << 10 // bytes

// A setting is a line of a configuration file.
type setting struct {
	line        int
	name, value string
}

// ApplyConfig gives the command what the configuration file says, where neither a flag nor the
// environment does. What the command has no flag for is passed over.
func ApplyConfig(cmd *cobra.Command, a *App, file string) error {
	origin := "--config"
	switch {
	case cmd.Flags().Lookup("config") == nil: // it heeds none, as the completion
		return nil
	case !cmd.Flags().Changed("config"):
		if origin, file = ConfigVariable, a.Env(ConfigVariable); file == "" {
			return nil
		}
	}
	settings, err := ReadConfig(file)
	if err != nil {
		return Usagef("%s %s: %w", origin, file, err)
	}
	_, own := cmd.Annotations[OwnMasters]
	var given []string // flags
	cmd.Flags().Visit(func(f *pflag.Flag) { given = append(given, f.Name) })
	// What the file says of masters is passed over as a whole.
	elsewhere := own || slices.Contains(given, "spawn") || slices.Contains(given, "masters") || a.Env(MastersVariable) != ""
	for _, s := range settings {
		flag := cmd.Flags().Lookup(s.name)
		switch {
		case flag == nil || slices.Contains(given, s.name):
		case elsewhere && slices.Contains(repeated, s.name):
		default:
			if err := cmd.Flags().Set(s.name, s.value); err != nil {
				return Usagef("%s %s: line %d: %s %q: %w", origin, file, s.line, s.name, s.value, flag.Value.Set(s.value)) // in fewer words than err
			}
		}
	}
	return nil
}

// ReadConfig reads lines such as "masters = redis://a,redis://b"; of several fleets each
// has a line, "masters = eu=redis://a,redis://b". Its errors do repeat the name on a line at
// the most: what is behind it may be a password.
func ReadConfig(name string) (settings []setting, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxConfig)
	size := 0
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if size += len(text) + 1; size > maxConfig {
			return nil, fmt.Errorf("longer than %d bytes: that is no configuration", maxConfig)
		}
		if text == "" || text[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(text, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !ok:
			return nil, fmt.Errorf("line %d: %s: want name = value, with one of the names %s", n, term.Printable(term.Redacted(text)), strings.Join(configured, ", "))
		case !slices.Contains(configured, name):
			return nil, fmt.Errorf("line %d: unknown name %q: want one of %s", n, name, strings.Join(configured, ", "))
		case value == "":
			return nil, fmt.Errorf("line %d: %s has no value", n, name)
		case !slices.Contains(repeated, name) && slices.ContainsFunc(settings, func(s setting) bool { return s.name == name }):
			return nil, fmt.Errorf("line %d: %s is given twice", n, name)
		}
		settings = append(settings, setting{n, name, value})
	}
	return settings, lines.Err()
}
