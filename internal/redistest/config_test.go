package redistest

import (
	"strings"
	"testing"
)

func TestBadConfigurationIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		cfg  Config
		want []string
	}{
		"port below":       {Config{Port: -1}, []string{"Config.Port", "-1", "65535"}},
		"port above":       {Config{Port: 65536}, []string{"Config.Port", "65536", "65535"}},
		"append only":      {Config{AppendOnly: "yes"}, []string{"Config.AppendOnly", `"yes"`, "everysec", "always"}},
		"user without ACL": {Config{Username: "u", Password: "p"}, []string{"Config.Username", `"u"`, "ACL"}},
		"user, no secret":  {Config{Username: "u", ACL: []string{"user u on nopass"}}, []string{"Config.Username", "Password"}},
		"ACL line":         {Config{ACL: []string{"alice on"}}, []string{"Config.ACL", `"alice on"`}},
		"ACL two lines":    {Config{ACL: []string{"user a on\nuser b on"}}, []string{"Config.ACL", "single lines"}},
		"ACL nobody":       {Config{ACL: []string{"user "}}, []string{"Config.ACL"}},
		"ACL of ours":      {Config{ACL: []string{"user " + harnessUser + " off"}}, []string{"Config.ACL", harnessUser}},
		"argument":         {Config{Args: []string{"maxmemory", "1mb"}}, []string{"Config.Args", `"maxmemory"`}},
		"managed":          {Config{Args: []string{"--maxmemory", "1mb", "--Port", "1"}}, []string{`"--Port"`, "Config.Port"}},
		"managed in one":   {Config{Args: []string{"--requirepass x"}}, []string{"--requirepass", "Config.Password"}},
	} {
		_, err := Launch(t.Context(), test.cfg)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want it to name %s", name, err, want)
			}
		}
	}
}
