package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/cmd/internal/say"
	"github.com/redquorum/redquorum/cmd/internal/stage"
)

func TestTheResultIsOneJSONDocument(t *testing.T) {
	t.Parallel()
	o := fast()
	res, _, err := shown(t, stage.Given(masters(t, 3).URLs), o)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := app.WriteJSON(&out, res); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Verdict  string  `json:"verdict"`
		Error    *string `json:"error"`
		Started  string  `json:"started"`
		Duration float64 `json:"duration_ms"`
		Versions map[string]string
		Settings struct {
			Masters, Key                   string
			Quorum, Buyers, Clients, Stock int
			TTL                            float64 `json:"ttl_ms"`
		}
		Phases []struct {
			Name      string
			Lock      *bool
			MastersUp int     `json:"masters_up"`
			Duration  float64 `json:"duration_ms"`
			Sales     int
			P50       float64 `json:"p50_ms"`
			Inventory *struct{ Before, After, Oversold int }
		}
		Expectations []struct {
			Name, Detail string
			OK           bool
		}
		Skipped []struct{ What, Why string }
		Masters []struct{ Address, State string }
	}
	d := json.NewDecoder(&out)
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if d.More() {
		t.Error("more than one document")
	}
	if doc.Verdict != "passed" || doc.Error != nil || doc.Duration <= 0 || doc.Versions["redlock_demo"] != "v0" || doc.Versions["go"] == "" {
		t.Errorf("%+v", doc)
	}
	if _, err := time.Parse(time.RFC3339, doc.Started); err != nil {
		t.Error(err)
	}
	s := doc.Settings
	if s.Masters != "given" || s.Quorum != 2 || s.Buyers != 8 || s.Clients != 4 || s.Stock != 20 || s.TTL != 5000 ||
		!strings.HasPrefix(s.Key, "demo:inventory:") {
		t.Errorf("settings %+v", s)
	}
	if len(doc.Phases) != 2 || len(doc.Expectations) != 4 || len(doc.Masters) != 3 {
		t.Fatalf("%+v", doc)
	}
	if p := doc.Phases[1]; p.Lock == nil || !*p.Lock || p.MastersUp != 3 || p.Duration <= 0 || p.Sales != 20 || p.P50 <= 0 || p.Inventory == nil || p.Inventory.Before != 20 {
		t.Errorf("phase %+v", p)
	}
	if len(doc.Skipped) != 1 || doc.Skipped[0].What != "taking masters away while it sells" || !strings.Contains(doc.Skipped[0].Why, "not ours to stop") {
		t.Errorf("skipped %+v", doc.Skipped)
	}
}

func TestEmptyListsAreNotNull(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	o := fast()
	o.ready = 100 * time.Millisecond
	res, _, err := shown(t, stage.Given([]string{"redis://" + l.Addr().String()}), o)
	if _, ok := errors.AsType[*say.NoQuorumError](err); !ok {
		t.Fatalf("error %v", err)
	}
	var out bytes.Buffer
	if err := app.WriteJSON(&out, res); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "null") {
		t.Errorf("null in %s", out.String())
	}
}

func TestWithoutAQuorumTheRunDoesNotBegin(t *testing.T) {
	t.Parallel()
	m := masters(t, 3)
	m.Masters[0].Kill()
	m.Masters[2].Kill()
	o := fast()
	o.ready = 4 * time.Second
	res, text, err := shown(t, stage.Given(m.URLs), o)
	none, ok := errors.AsType[*say.NoQuorumError](err)
	if !ok {
		t.Fatalf("error %v", err)
	}
	away := m.Masters[0].Addr() + ", " + m.Masters[2].Addr()
	// A busy machine takes longer, and may not have heard of the third.
	want := regexp.MustCompile(`^no quorum within [4-6](\.\d)? s: 2 of 3 masters are down \(` + regexp.QuoteMeta(away) + `: connection refused\)(, 1 does not answer .*)?\. ` +
		`Start ` + regexp.QuoteMeta(away) + `, or mend the network to it\.`)
	if !want.MatchString(none.Error()) {
		t.Errorf("error %q, want %q", none, want)
	}
	text = regexp.MustCompile(`(?m)^   … waiting for a quorum · .*\n`).ReplaceAllString(text, "")
	if text != "" || res.Verdict != VerdictNoQuorum || res.Error != none.Error() || len(res.Masters) != 3 {
		t.Errorf("printed %q, result %+v", text, res)
	}
}

func TestInputThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	good := []string{"redis://127.0.0.1:1", "redis://127.0.0.1:2", "redis://127.0.0.1:3"}
	for _, test := range []struct {
		name   string
		urls   []string
		change func(*Options)
		want   string
	}{
		{"odd TTL", good, func(o *Options) { o.Masters.TTL = time.Second + 1 }, "--ttl 1.000000001s: want whole milliseconds, as Redis counts them"},
		{"no masters", nil, nil, "0 master URLs given: want 1 to 63"},
		{"bad scheme", []string{"http://u:secret@h"}, nil, `master URL 1: scheme "http": want redis://, rediss:// or unix://`},
		{"bad URL", []string{good[0], "redis://u:sec%ret@h"}, nil, "master URL 2: not a valid URL"},
		{"twice", []string{good[0], good[1], good[0]}, nil, "master URL 3: 127.0.0.1:1 is already master 1: every master must be given once"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := fast()
			if test.change != nil {
				test.change(&o)
			}
			res, text, err := shown(t, stage.Given(test.urls), o)
			if _, ok := errors.AsType[*app.UsageError](err); !ok || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
			if res != nil || text != "" {
				t.Errorf("result %+v, printed %q", res, text)
			}
		})
	}
}
