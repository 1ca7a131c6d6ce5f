package main

import (
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// patient has long time-outs, so that masters on a busy machine do not seem to be down.
var patient = []redlock.Option{
	redlock.WithPool(pool.WithCommandTimeout(5*time.Second), pool.WithDialTimeout(time.Minute)), redlock.WithOutageWait(time.Minute),
}

func TestTokensStopThePausedHolder(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out, "", patient...); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"2 sold, 9 of 10 left: 1 too many in the books",
		"the first holder is refused",
		"1 sold, 9 of 10 left: as it should be",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

func TestBadMastersAreReported(t *testing.T) {
	if err := run(t.Context(), &strings.Builder{}, "http://localhost"); err == nil {
		t.Error("no error")
	}
}
