package main

import (
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/pool"
	"github.com/redquorum/redquorum/redlock"
)

// patient does not take a busy machine for masters that are down.
var patient = []redlock.Option{
	redlock.WithPool(pool.WithCommandTimeout(5*time.Second), pool.WithDialTimeout(time.Minute)), redlock.WithOutageWait(time.Minute),
}

func TestEveryItemIsSoldOnce(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out, "", patient...); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1 segment(s): 50 of 50 items sold, 0 left",
		"5 segment(s): 50 of 50 items sold, 0 left",
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
