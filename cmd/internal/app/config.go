package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// configured are the flags that a configuration file may set.
var configured = []string{
	"masters", "user", "password-file", "tls-ca", "tls-cert", "tls-key", "guard", "max-ttl", "client-skew",
}

// maxConfig is far above any configuration: a longer file is not one.
const maxConfig = 64 << 10 // bytes

// likeName matches unknown names that an error may repeat: others may be secrets that end with "=".
var likeName = regexp.MustCompile(`^[a-z][a-z-]{0,19}$`)

// A setting is a line of a configuration file.
type setting struct {
	line        int
	name, value string
}

// ApplyConfig sets the command's flags from the configuration file, except what a flag or the
// environment sets. It skips settings for which the command has no flag.
func ApplyConfig(cmd *cobra.Command, a *App, file string) error {
	origin := "--config"
	switch {
	case cmd.Flags().Lookup("config") == nil: // the command reads no configuration, such as completion
		return nil
	case !cmd.Flags().Changed("config"):
		if origin, file = ConfigVariable, a.Env(ConfigVariable); file == "" {
			return nil
		}
	}
	settings, err := ReadConfig(cmd.Context(), file)
	if err != nil {
		return Usagef("%s %s: %w", origin, file, err)
	}
	var given []string // flags
	cmd.Flags().Visit(func(f *pflag.Flag) { given = append(given, f.Name) })
	elsewhere := slices.Contains(given, "spawn") || slices.Contains(given, "masters") || a.Env(MastersVariable) != ""
	for _, s := range settings {
		flag := cmd.Flags().Lookup(s.name)
		switch {
		case flag == nil || slices.Contains(given, s.name):
		case elsewhere && s.name == "masters":
		default:
			if err := cmd.Flags().Set(s.name, s.value); err != nil {
				err = flag.Value.Set(s.value) // its error is shorter than that of pflag
				return Usagef("%s %s: line %d: %s %q: %w", origin, file, s.line, s.name, s.value, err)
			}
		}
	}
	return nil
}

// ReadConfig reads lines such as "masters = redis://a,redis://b". Its errors repeat at most the
// name on a line: the value may be a password.
func ReadConfig(ctx context.Context, name string) (settings []setting, err error) {
	content, err := readFile(ctx, name, maxConfig+1)
	switch {
	case err != nil:
		return nil, err
	case len(content) > maxConfig:
		return nil, fmt.Errorf("longer than %d bytes: that is no configuration", maxConfig)
	}
	n := 0
	lines := strings.Lines(strings.TrimPrefix(string(content), "\ufeff")) // Windows: a byte order mark
	for text := range lines {
		n++
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(text, "=")
		name = strings.TrimSpace(name)
		value, closed := unquoted(value)
		switch {
		case !ok:
			return nil, fmt.Errorf("line %d: want name = value, with one of the names %s",
				n, strings.Join(configured, ", "))
		case !likeName.MatchString(name):
			return nil, fmt.Errorf("line %d: unknown name: want one of %s", n, strings.Join(configured, ", "))
		case !slices.Contains(configured, name):
			return nil, fmt.Errorf("line %d: unknown name %q: want one of %s", n, name, strings.Join(configured, ", "))
		case !closed:
			return nil, fmt.Errorf("line %d: the value of %s begins with a quote and does not end with it", n, name)
		case value == "":
			return nil, fmt.Errorf("line %d: %s has no value", n, name)
		case slices.ContainsFunc(settings, func(s setting) bool { return s.name == name }):
			return nil, fmt.Errorf("line %d: %s is given twice", n, name)
		}
		settings = append(settings, setting{n, name, value})
	}
	return settings, nil
}

// unquoted returns a value as a shell would read it: without its quotes, and without a comment
// behind it; false: a quote is not closed.
func unquoted(value string) (string, bool) {
	value = strings.TrimSpace(value)
	if value != "" && (value[0] == '"' || value[0] == '\'') {
		inside, rest, closed := strings.Cut(value[1:], value[:1])
		rest = strings.TrimSpace(rest)
		return inside, closed && (rest == "" || rest[0] == '#')
	}
	at := strings.IndexFunc(value, unicode.IsSpace)
	if at >= 0 && strings.HasPrefix(strings.TrimSpace(value[at:]), "#") {
		value = value[:at]
	}
	return value, true
}

// readFile reads at most limit bytes of a file. A pipe without a writer blocks it until ctx ends.
func readFile(ctx context.Context, name string, limit int64) (content []byte, err error) {
	done := make(chan struct{})
	go func() { // lasts as long as the process if nobody writes: such a read cannot be canceled
		defer close(done)
		var file *os.File
		if file, err = os.Open(name); err == nil {
			content, err = io.ReadAll(io.LimitReader(file, limit))
			_ = file.Close()
		}
	}()
	select {
	case <-done:
		return content, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
