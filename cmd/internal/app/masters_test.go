package app

import (
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/term"
)

const (
	euMasters = "redis://10.0.0.1,redis://10.0.0.2,redis://10.0.0.3"
	usMasters = "redis://10.0.1.1,redis://10.0.1.2,redis://10.0.1.3"
)

func TestFleetsAreTheSameWhateverTheOrderOfTheFlags(t *testing.T) {
	t.Parallel()
	want := "eu=" + strings.ReplaceAll(euMasters, ",", "+") + " us=" + strings.ReplaceAll(usMasters, ",", "+")
	for _, lists := range [][]string{
		{"eu=" + euMasters, "us=" + usMasters},
		{" us = " + usMasters, "eu=" + strings.ReplaceAll(euMasters, ",", " , ")},
	} {
		list, err := ParseFleets("--masters", lists)
		var got []string
		for _, f := range list {
			got = append(got, f.Name+"="+strings.Join(f.Urls, "+"))
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, %v", lists, got, err)
		}
	}
}

func TestOneFleetNeedsNoName(t *testing.T) {
	t.Parallel()
	for list, name := range map[string]string{
		euMasters:               "",
		"eu=" + euMasters:       "eu",
		"redis://u:p=w@h":       "", // the "=" is one of the URL's
		"unix:///tmp/a=b":       "",
		"redis://h?x=y":         "",
		"eu-1.a=redis://u:p=w@": "eu-1.a",
	} {
		fleets, err := ParseFleets("--masters", []string{list})
		if err != nil || len(fleets) != 1 || fleets[0].Name != name || !strings.HasSuffix(list, strings.Join(fleets[0].Urls, ",")) {
			t.Errorf("%q: %+v, %v", list, fleets, err)
		}
	}
}

func TestFleetsThatAreAmbiguousAreRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		lists []string
		want  string
	}{
		{
			[]string{"eu=" + euMasters, "redis://:secret@d,redis://e"},
			"--masters: fleet 2 of 2 (redis://[redacted]@d,redis://e) has no name: want NAME=url,url,… for each of several, by the names that all their clients have: keys are spread by the names",
		},
		{
			[]string{euMasters, usMasters},
			"--masters: fleet 1 of 2 (redis://10.0.0.1,redis://10.0.0.2,redis://10.0.…) has no name: want NAME=url,url,… for each of several, by the names that all their clients have: keys are spread by the names",
		},
		{
			[]string{"eu=" + euMasters, "us=" + usMasters, "eu=redis://h"},
			`--masters: fleets 1 and 3 of 3 are both called "eu": keys are spread by the names, so each fleet has one of its own`,
		},
		{
			[]string{"eu=" + euMasters, "us=redis://10.0.1.1,redis://10.0.0.2:6379/0"},
			`--masters: 10.0.0.2:6379, database 0 is in the fleets "eu" and "us": want each server and database in one of them, or they are not independent`,
		},
		{[]string{"=redis://:secret@h"}, `--masters: fleet 1 of 1 (=redis://[redacted]@h): the name before "=" is missing: want NAME=url,url,…`},
		{[]string{" =redis://h"}, `--masters: fleet 1 of 1 (=redis://h): the name before "=" is missing: want NAME=url,url,…`},
		{[]string{"e u=redis://h"}, `--masters: fleet 1 of 1 (e u=redis://h): name "e u": want letters, digits and signs without spaces, but for : / @ , =`},
		{[]string{"e\x1bu=redis://h"}, `--masters: fleet 1 of 1 ("e\x1bu=redis://h"): name "e\x1bu": want letters, digits and signs without spaces, but for : / @ , =`},
		{[]string{"eu="}, `--masters: fleet "eu" names no masters: want url,url,…`},
		{[]string{"eu=" + euMasters, "us=redis://d,,redis://e"}, `--masters: fleet "us": entry 2 of 3 is empty: want url,url,…`},
		{[]string{"eu=" + euMasters, "us=http://d"}, `--masters: fleet "us": master URL 1: scheme "http": want redis://, rediss:// or unix://`},
		{[]string{"eu=" + euMasters, "us=redis://d,redis://D:6379/1"}, `--masters: fleet "us": master URL 2: d:6379 is already master 1: every master must be given once`},
	} {
		list, err := ParseFleets("--masters", test.lists)
		if list != nil || err == nil || term.Redacted(err.Error()) != test.want || ExitCode(err) != ExitUsage {
			t.Errorf("%q: %+v\n%v, want\n%s", test.lists, list, err, test.want)
		}
	}
	// The same server's databases are fleets apart.
	if list, err := ParseFleets("--masters", []string{"a=redis://h/1", "b=redis://h/2"}); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}
