package main

import (
	"bufio"
	"context"
	"io"
	"strings"
)

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
