package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/demo"
	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/sleep"
)

// live reports whether the standard output is a terminal on which lines can be replaced.
func (a *app) live() bool { return isTerminal(a.out) && a.env("TERM") != "dumb" }

// coloured reports whether a terminal may have colours.
func (f *sharedFlags) coloured(a *app) bool { return !f.noColor && a.env("NO_COLOR") == "" }

// asksPerson reports whether somebody sits there who can confirm what is asked.
func (a *app) asksPerson() bool { return isTerminal(a.in) && isTerminal(os.Stderr) }

// screen is the standard output, as what it is.
func (f *sharedFlags) screen(a *app) *demo.Screen {
	if f.json {
		return demo.Silent()
	}
	able := a.live()
	if runtime.GOOS == "windows" && a.env("WT_SESSION") == "" {
		able = false // an old console shows control sequences as they are
	}
	colour := able && f.coloured(a)
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

// emit prints a text whole.
func emit(out io.Writer, text *bytes.Buffer) error {
	if _, err := out.Write(text.Bytes()); err != nil {
		return &outputError{err}
	}
	return nil
}

// writeJSON prints a document.
func writeJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return &outputError{err}
	}
	return nil
}

// report prints the document of a run, which has its error, and gives what remains of that:
// the exit code.
func report(out io.Writer, v any, err error) error {
	if writeErr := writeJSON(out, v); writeErr != nil || err == nil {
		return writeErr
	}
	return &codeError{code: exitCode(err)}
}

// confirmed asks whoever sits at the terminal, after telling what is going to be
// done: whole lines.
func confirmed(ctx context.Context, a *app, text string) (yes bool, err error) {
	if _, err := io.WriteString(a.err, text+"Type yes to go on: "); err != nil {
		return false, &outputError{err}
	}
	answer := make(chan string, 1)
	go func() { // ends with the process, if nobody types: a read of the terminal cannot be ended
		line, _ := bufio.NewReader(a.in).ReadString('\n')
		answer <- strings.TrimSpace(line)
	}()
	select {
	case typed := <-answer:
		return typed == "yes", nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

const (
	defaultWatch = time.Second
	minWatch     = 100 * time.Millisecond
	maxWatch     = time.Hour
)

// registerWatch adds --watch to a command.
func registerWatch(cmd *cobra.Command, p *time.Duration) {
	watch := cmd.Flags().VarPF(rangeFlag(p, minWatch, maxWatch), "watch", "", "repeat, by default every second; written --watch=duration")
	watch.NoOptDefVal = defaultWatch.String()
	watch.DefValue = ""
}

// checkWatch refuses a pause between looks that was taken for a key: the flag has
// its value behind "=" alone. A key of that form goes behind --.
func checkWatch(cmd *cobra.Command, every time.Duration, what string, keys []string) error {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		keys = keys[:dash]
	}
	if every == 0 || len(keys) == 0 {
		return nil
	}
	if _, err := time.ParseDuration(keys[0]); err == nil {
		return usagef("key %q is a duration: want --watch=%[1]s %s, or -- before a key of that name", keys[0], what)
	}
	return nil
}

// watching looks once or (every > 0) until ctx ends. Of one look the code is the
// exit code.
func watching(ctx context.Context, every time.Duration, look func() (code int, err error)) error {
	for {
		code, err := look()
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case every == 0 && code == exitOK:
			return nil
		case every == 0:
			return &codeError{code: code}
		}
		if err := sleep.For(ctx, every); err != nil {
			return err
		}
	}
}
