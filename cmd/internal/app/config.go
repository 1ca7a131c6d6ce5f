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

// configured are the flags that a configuration file may give.
var configured = []string{
	"masters", "user", "password-file", "tls-ca", "tls-cert", "tls-key", "guard", "max-ttl", "client-skew",
}

// maxConfig is far above any configuration; what is longer is another file.
const maxConfig = 64 << 10 // bytes

// likeName is what an unknown name may be that is repeated: the line may be a secret, with "=" at its end.
var likeName = regexp.MustCompile(`^[a-z][a-z-]{0,19}$`)

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
				err = flag.Value.Set(s.value) // which says it in fewer words
				return Usagef("%s %s: line %d: %s %q: %w", origin, file, s.line, s.name, s.value, err)
			}
		}
	}
	return nil
}

// ReadConfig reads lines such as "masters = redis://a,redis://b". Its errors do repeat the name on a line at
// the most: what is behind it may be a password.
func ReadConfig(ctx context.Context, name string) (settings []setting, err error) {
	content, err := readFile(ctx, name, maxConfig+1)
	switch {
	case err != nil:
		return nil, err
	case len(content) > maxConfig:
		return nil, fmt.Errorf("longer than %d bytes: that is no configuration", maxConfig)
	}
	n := 0
	lines := strings.Lines(strings.TrimPrefix(string(content), "\ufeff")) // a file of Windows begins with that
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

// unquoted is a value as a shell would have it: without its quotes, and without a comment
// behind it. false: a quote is not closed.
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

// readFile reads a file, or as much as the limit of what is longer. Nobody may be writing to a pipe: ctx ends that.
func readFile(ctx context.Context, name string, limit int64) (content []byte, err error) {
	done := make(chan struct{})
	go func() { // ends with the process where nobody writes: such a read cannot be ended
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
