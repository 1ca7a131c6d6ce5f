package guard

import (
	"bytes"
	"strings"
	"testing"
)

const id = "0123456789abcdef0123456789abcdef01234567"

const goodInfo = "# Server\r\nredis_version:7.0.15\r\nrun_id:" + id + "\r\n\r\n# Memory\r\nmaxmemory:0\r\n" +
	"maxmemory_policy:noeviction\r\n\r\n# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"

func TestParseInfo(t *testing.T) {
	all := Info{RunID: id, Role: "master", Policy: "noeviction"}
	in := func(mode string) Info { i := all; i.Mode = mode; return i }
	for name, test := range map[string]struct {
		texts []string
		want  Info
		err   string // part of it; "": none
	}{
		"of Redis":              {[]string{goodInfo}, all, ""},
		"line feeds alone":      {[]string{strings.ReplaceAll(goodInfo, "\r\n", "\n")}, all, ""},
		"section by section":    {[]string{"# Server\r\nrun_id:" + id + "\r\n", "role:master\r\n", "maxmemory_policy:noeviction"}, all, ""},
		"a replica":             {[]string{"role:slave\r\nrun_id:x\r\nmaxmemory_policy:allkeys-lru"}, Info{RunID: "x", Role: "slave", Policy: "allkeys-lru"}, ""},
		"nothing":               {nil, Info{}, "run_id, role, maxmemory_policy"},
		"names that only begin": {[]string{"run_id2:x\r\nxrole:y\r\nrun_i:z\r\nrun_id"}, Info{}, "INFO"},
		"contradiction":         {[]string{goodInfo, "role:slave\r\nrole:master"}, Info{RunID: id, Policy: "noeviction"}, `role:master and role:"slave"`},
		"empty":                 {[]string{goodInfo, "role:\r\n"}, all, `role:""`},
		"spaces":                {[]string{"run_id: x\r\nrole:master\r\nmaxmemory_policy:noeviction"}, Info{Role: "master", Policy: "noeviction"}, `run_id:" x"`},
		"not ASCII":             {[]string{"role:mäster"}, Info{}, "role:"},
		"too long":              {[]string{"run_id:" + strings.Repeat("a", 65)}, Info{}, "aaaa"},
		"longest":               {[]string{"run_id:" + strings.Repeat("a", 64) + "\nrole:master\nmaxmemory_policy:x"}, Info{RunID: strings.Repeat("a", 64), Role: "master", Policy: "x"}, ""},
		"a sentinel alone":      {[]string{"redis_mode:sentinel\r\nrun_id:x"}, Info{RunID: "x", Mode: "sentinel"}, "does not say role, maxmemory_policy"},
		"of a Valkey cluster":   {[]string{"# Server\r\nserver_mode:cluster\r\n" + goodInfo}, in("cluster"), ""},
		"two modes, two names":  {[]string{goodInfo + "server_mode:cluster\r\nredis_mode:standalone"}, in(""), `redis_mode:cluster and redis_mode:"standalone"`},
		"too much":              {[]string{goodInfo, strings.Repeat("x", 1<<20)}, Info{}, "more than 1048576 bytes"},
	} {
		texts := make([][]byte, len(test.texts))
		for i, s := range test.texts {
			texts[i] = []byte(s)
		}
		got, err := ParseInfo(texts...)
		if got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: error %v, want %q", name, err, test.err)
		}
	}
}

func FuzzParseInfo(f *testing.F) {
	f.Add([]byte(goodInfo), []byte(""))
	f.Add([]byte(goodInfo+"redis_mode:cluster\r\n"), []byte("redis_mode:sentinel"))
	f.Add([]byte("role:master\r\nrole:slave"), []byte("run_id:\xff\r\nrun_id:x"))
	f.Add([]byte("maxmemory_policy:"+strings.Repeat("y", 65)), []byte(":\n:\r\nrun_id\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		info, err := ParseInfo(a, b)
		all := info.RunID != "" && info.Role != "" && info.Policy != ""
		if err == nil && !all {
			t.Fatalf("no error, and only %+v", info)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\r\n\x00") {
			t.Fatalf("the error is not one line: %q", err)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Fatalf("the error has %d bytes", len(err.Error()))
		}
		whole := append(append(bytes.Clone(a), '\n'), b...)
		for _, value := range []string{info.RunID, info.Role, info.Policy, info.Mode} {
			if value != "" && (!credible([]byte(value)) || !bytes.Contains(whole, []byte(":"+value))) {
				t.Fatalf("%q is not what INFO says", value)
			}
		}
		if again, _ := ParseInfo(whole); err == nil && len(whole) <= maxInfo && again != info {
			t.Fatalf("%+v in two texts, %+v in one", info, again)
		}
	})
}
