package app

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redquorum/redquorum/cmd/internal/term"
)

// Live reports whether the standard output is a terminal on which lines can be replaced.
func (a *App) Live() bool { return term.IsTerminal(a.Out) && a.Env("TERM") != "dumb" }

// Coloured reports whether a terminal may have colours.
func (a *App) Coloured() bool { return a.Env("NO_COLOR") == "" }

// AsksPerson reports whether a person at a terminal can confirm a question.
func (a *App) AsksPerson() bool { return term.IsTerminal(a.In) && term.IsTerminal(os.Stderr) }

// Emit prints a text in one write.
func Emit(out io.Writer, text *bytes.Buffer) error {
	if _, err := out.Write(text.Bytes()); err != nil {
		return &OutputError{err}
	}
	return nil
}

// WriteJSON prints a document.
func WriteJSON(out io.Writer, v any) error {
	text, err := term.JSON(v, true)
	if err != nil {
		return err
	}
	return Emit(out, bytes.NewBuffer(text))
}

// Report prints the document of a run, which contains err, and returns an error with err's
// exit code and no text.
func Report(out io.Writer, v any, err error) error {
	if writeErr := WriteJSON(out, v); writeErr != nil || err == nil {
		return writeErr
	}
	return Silently(err)
}

// Confirm prints what will be done, each text on its own lines, and asks the person at the terminal
// to type yes. After any other answer its error contains no, which says what happens instead.
func Confirm(ctx context.Context, a *App, no string, texts ...string) error {
	var b bytes.Buffer
	for _, text := range texts {
		term.LayoutFor(os.Stderr).Text(&b, "", 0, text)
	}
	b.WriteString("Type yes to go on: ")
	if err := Emit(a.Err, &b); err != nil {
		return err
	}
	answer := make(chan string, 1)
	go func() { // lasts as long as the process if nobody types: a read of the terminal cannot be canceled
		line, _ := bufio.NewReader(a.In).ReadString('\n')
		answer <- strings.TrimSpace(line)
	}()
	select {
	case typed := <-answer:
		if typed != "yes" {
			return Usagef("not confirmed: %s", no)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

const (
	defaultWatch = time.Second
	minWatch     = 100 * time.Millisecond
	maxWatch     = time.Hour
)

// RegisterWatch adds --watch to a command.
func RegisterWatch(cmd *cobra.Command, p *time.Duration) {
	watch := cmd.Flags().VarPF(RangeFlag(p, minWatch, maxWatch), "watch", "",
		"repeat, by default every second; written --watch=duration")
	watch.NoOptDefVal = defaultWatch.String()
	watch.DefValue = ""
}

// CheckWatch rejects "--watch 2s", where 2s becomes a key: the flag takes its value only
// after "=". A key that looks like a duration has to follow --.
func CheckWatch(cmd *cobra.Command, every time.Duration, what string, keys []string) error {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		keys = keys[:dash]
	}
	if every == 0 || len(keys) == 0 {
		return nil
	}
	if _, err := time.ParseDuration(keys[0]); err == nil {
		return Usagef("key %q is a duration: want --watch=%[1]s %s, or -- before a key of that name", keys[0], what)
	}
	return nil
}

// Looks prints one look after another.
type Looks struct {
	Out     io.Writer
	JSON    bool
	Clear   bool // clear the screen before each look
	printed bool
}

// NewLooks returns the Looks of a command that looks once, or repeatedly where every > 0.
func NewLooks(a *App, shared *SharedFlags, every time.Duration) Looks {
	return Looks{Out: a.Out, JSON: shared.JSON, Clear: every > 0 && !shared.JSON && a.Live()}
}

// Print prints one look in one write: the document as JSON, or the text for people.
func (l *Looks) Print(document any, text *bytes.Buffer) error {
	var b bytes.Buffer
	switch {
	case l.JSON:
		line, err := term.JSON(document, false)
		if err != nil {
			return err
		}
		b.Write(line)
	case l.Clear:
		b.WriteString("\x1b[H\x1b[J")
		b.Write(text.Bytes())
	default:
		if l.printed {
			b.WriteByte('\n')
		}
		b.Write(text.Bytes())
	}
	l.printed = true
	return Emit(l.Out, &b)
}

// Watching looks once, or until ctx ends where every > 0. The code of one look is the exit code.
func Watching(ctx context.Context, every time.Duration, look func() (code int, err error)) error {
	for {
		code, err := look()
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case every == 0 && code == ExitOK:
			return nil
		case every == 0:
			return &CodeError{Code: code}
		}
		if err := Sleep(ctx, every); err != nil {
			return err
		}
	}
}
