package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/internal/redistest"
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
		list, err := parseFleets("--masters", lists)
		var got []string
		for _, f := range list {
			got = append(got, f.name+"="+strings.Join(f.urls, "+"))
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
		fleets, err := parseFleets("--masters", []string{list})
		if err != nil || len(fleets) != 1 || fleets[0].name != name || !strings.HasSuffix(list, strings.Join(fleets[0].urls, ",")) {
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
		list, err := parseFleets("--masters", test.lists)
		if list != nil || err == nil || redacted(err.Error()) != test.want || exitCode(err) != exitUsage {
			t.Errorf("%q: %+v\n%v, want\n%s", test.lists, list, err, test.want)
		}
	}
	// The same server's databases are fleets apart.
	if list, err := parseFleets("--masters", []string{"a=redis://h/1", "b=redis://h/2"}); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestCommandsThatTakeOneFleetRefuseSeveral(t *testing.T) {
	t.Parallel()
	two := []string{"--masters", "eu=" + euMasters, "--masters", "us=" + usMasters}
	const want = "redlock-demo: --masters names 2 fleets (eu, us): this command takes one; status, doctor, exec and bench take several\n"
	config := file(t, "masters = us="+usMasters+"\n# and\nmasters = eu="+euMasters+"\n")
	for _, command := range []string{"demo", "chaos", "locks", "release --yes k", "wait k", "init", "fleet close --to x"} {
		stdout, stderr, code := output(t, nil, append(strings.Fields(command), two...)...)
		if code != exitUsage || stdout != "" || stderr != want {
			t.Errorf("%s: exit code %d, %q, %q", command, code, stdout, stderr)
		}
		if command == "chaos" { // which takes none of a file
			continue
		}
		stdout, stderr, code = output(t, nil, append(strings.Fields(command), "--config", config)...)
		if code != exitUsage || stdout != "" || stderr != want {
			t.Errorf("%s --config: exit code %d, %q, %q", command, code, stdout, stderr)
		}
	}
}

// A file says the same as the flags, and is overruled by them as a whole.
func TestAFileOfSeveralFleetsSaysWhatTheFlagsSay(t *testing.T) {
	t.Parallel()
	_, eu := processes(t, 1, redistest.Config{})
	_, us := processes(t, 1, redistest.Config{})
	flags := []string{"--masters", "us=" + us, "--masters", "eu=" + eu}
	config := file(t, "# of the test\nmasters = eu="+eu+"\n\n  masters=us = "+us+"\n")
	keys := []string{"a", "b", "c", "d", "e"}
	byFlags, stderr, code := output(t, nil, append(append([]string{"status", "--json"}, flags...), keys...)...)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, %q", code, stderr)
	}
	byFile, stderr, code := output(t, []string{configVariable + "=" + config}, append([]string{"status", "--json"}, keys...)...)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, %q", code, stderr)
	}
	if a, b := keysOf(t, byFlags), keysOf(t, byFile); a != b || strings.Count(a, " ") != len(keys)+2 {
		t.Errorf("by flags %s, by the file %s", a, b)
	}
	for _, how := range []struct{ env, args []string }{
		{nil, []string{"--masters", us}},
		{[]string{mastersVariable + "=" + us}, nil},
	} {
		stdout, stderr, code := output(t, how.env, append([]string{"status", "--config", config, "k"}, how.args...)...)
		if code != 0 || stderr != "" || strings.Contains(stdout, "Fleet") || slices.ContainsFunc(strings.Split(eu, ","), func(url string) bool { return strings.Contains(stdout, strings.TrimPrefix(url, "redis://")) }) {
			t.Errorf("%q: exit code %d, %q\n%s", how, code, stderr, stdout)
		}
	}
}
