package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/redlock-demo/internal/doctor"
	"github.com/redquorum/redquorum/internal/redistest"
)

func TestDoctorExaminesEachFleetAndEndsWithTheWorst(t *testing.T) {
	t.Parallel()
	_, eu := processes(t, 3, redistest.Config{AppendOnly: redistest.AppendAlways})
	down, us := processes(t, 3, redistest.Config{AppendOnly: redistest.AppendAlways})
	args := []string{"doctor", "--for", "200ms", "--masters", "us=" + us, "--masters", "eu=" + eu}
	stdout, stderr, code := output(t, nil, args...)
	if code != 0 || stderr != "" || !inOrder(stdout, "Fleet \"eu\"\n", "Fleet \"us\"\n", "\nThe worst is fleet \"eu\". Can lock: YES.") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	kill(t, down.Masters[:2]...)
	stdout, stderr, code = output(t, nil, args...)
	if code != exitSerious || stderr != "" || !inOrder(stdout, "Fleet \"eu\"\nCan lock: YES.", "Fleet \"us\"\nCan lock: NO.", "\nThe worst is fleet \"us\". Can lock: NO.") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, stdout)
	}
	if r, code := document[fleetsReport](t, nil, append(args, "--json")...); code != exitSerious || r.CanLock || r.Worst != "us" || len(r.Findings) != 0 ||
		len(r.Fleets) != 2 || r.Fleets[0].Name != "eu" || !r.Fleets[0].CanLock || len(r.Fleets[0].Masters) != 3 || r.Fleets[1].CanLock {
		t.Errorf("exit code %d, %+v", code, r)
	}
}

func TestAReportOnSeveralFleetsIsAsInItsGoldenFile(t *testing.T) {
	t.Parallel()
	fleets := [][]doctor.Facts{
		{votingMaster("10.0.0.1:6379", 0), votingMaster("10.0.0.2:6379", 0), votingMaster("10.0.0.3:6379", 0)},
		{votingMaster("10.0.0.1:6379", 0), {Master: "10.0.1.2:6379", Down: refused}, {Master: "10.0.1.3:6379", Down: refused}},
	}
	r := &fleetsReport{Findings: doctor.JudgeApart([]string{"eu", "us"}, fleets), Worst: "us"}
	for i, facts := range fleets {
		v, found := doctor.Judge(facts, judgedAt(), doctor.Client{})
		r.Fleets = append(r.Fleets, fleetReport{[]string{"eu", "us"}[i], doctor.NewReport(facts, v, found)})
	}
	var text bytes.Buffer
	if err := (&doctorOptions{sharedFlags: &sharedFlags{}}).showFleets(nil, &doctorView{out: &text}, r); err != nil {
		t.Error(err)
	}
	golden(t, "doctor-fleets", text.String())
}

// inOrder reports whether the words are in the text, one behind the other.
func inOrder(text string, words ...string) bool {
	for _, word := range words {
		_, rest, ok := strings.Cut(text, word)
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

// What has two addresses is in two fleets, and only the masters can say so.
func TestDoctorSeesAServerInTwoFleets(t *testing.T) {
	t.Parallel()
	_, eu := processes(t, 1, redistest.Config{})
	us := strings.Replace(eu, "127.0.0.1", "localhost", 1)
	if us == eu {
		t.Fatal(eu)
	}
	find := func(us string) (codes []string, severity doctor.Severity) {
		t.Helper()
		r, _ := document[fleetsReport](t, nil, "doctor", "--json", "--for", "200ms", "--masters", "eu="+eu, "--masters", "us="+us)
		for _, f := range r.Findings {
			codes, severity = append(codes, f.Code), f.Severity
		}
		return codes, severity
	}
	if codes, severity := find(us); len(codes) != 1 || codes[0] != "shared" || severity != doctor.Serious {
		t.Errorf("%q, %v", codes, severity)
	}
	if codes, _ := find(us + "/1"); len(codes) != 0 {
		t.Errorf("another database: %q", codes)
	}
}
