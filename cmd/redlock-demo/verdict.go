package main

import (
	"bytes"
	"context"
	"time"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/doctor"
)

// verdictOptions are how these masters are reached, for doctor.
func verdictOptions(urls []string, access *accessFlags) (o doctor.Options, err error) {
	o.URLs = urls
	if o.Pool, err = access.pool(); err != nil {
		return o, err
	}
	o.TLS, err = access.tlsConfig()
	return o, err
}

// verdictEvery is how long a verdict is shown before the masters are asked anew:
// each time, they are connected to.
const verdictEvery = time.Second

// verdicts says, as often as it is asked, whether such a client can take a lock. It
// is for one goroutine.
func verdicts(o doctor.Options, client doctor.Client) func(context.Context) (*doctor.Verdict, error) {
	var last *doctor.Verdict
	var asked time.Time
	return func(ctx context.Context) (*doctor.Verdict, error) {
		if last != nil && time.Since(asked) < verdictEvery {
			return last, nil
		}
		asked = time.Now()
		var err error
		last, err = doctor.CanLock(ctx, o, client)
		return last, err
	}
}

// printVerdict prints the answer to what is asked first, and what helps.
func printVerdict(b *bytes.Buffer, l layout, v *doctor.Verdict) {
	l.text(b, "", 0, v.String())
	for _, help := range v.Help {
		l.text(b, "  → ", 4, help)
	}
}
