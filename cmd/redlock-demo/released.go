package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/release"
	"github.com/redquorum/redquorum/redlock"
	"github.com/redquorum/redquorum/redlock/fleets"
)

// byOperator is how a lock is told of that an operator has taken from its holder.
func byOperator(operator string) string {
	return fmt.Sprintf("released by an operator (%s)", printable(operator))
}

// releasedSentence is an inspection of a lock that an operator has taken from its
// holder; "": none has.
func releasedSentence(in *redlock.Inspection) string {
	first := &in.Holders[0]
	operator, ok := release.By(first.Token)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s on %d of %d, free in %s", byOperator(operator), first.Masters, len(in.Masters), seconds(first.TTL))
}

// operatorBound is how long the masters have to say who has taken the lock.
const operatorBound = time.Second

// operatorAt tells which operator has taken the lock from its holder; "": none, as
// far as the masters say.
func operatorAt(who inspector, key string) string {
	ctx, cancel := context.WithTimeout(context.Background(), operatorBound)
	defer cancel()
	in, err := who.Inspect(ctx, key)
	if err != nil {
		return ""
	}
	for i := range in.Holders {
		if operator, ok := release.By(in.Holders[i].Token); ok {
			return operator
		}
	}
	return ""
}

// watchOperator looks who has taken the lock as soon as it is lost: later the token
// that says so may have expired. The lock's context has to end before the result is
// asked for.
func (e *execution) watchOperator(lock fleets.Hold) (operator func() string) {
	found := make(chan string, 1)
	go func() { // ends with the lock's context
		<-lock.Context().Done()
		lost, ok := errors.AsType[*redlock.LostError](context.Cause(lock.Context()))
		if !ok || lost.Reason != redlock.ReasonTaken {
			found <- ""
			return
		}
		found <- e.place.operator(e.key)
	}()
	return func() string { return <-found }
}
