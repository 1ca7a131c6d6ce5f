package pages

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// yamlBlock is a fenced block of YAML.
var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// A deployment has the fields of a manifest that the test compares with each other.
type deployment struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		Replicas int
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				Containers []struct {
					Name, Image    string
					Ports          []struct{ Name string }
					LivenessProbe  probe `yaml:"livenessProbe"`
					ReadinessProbe probe `yaml:"readinessProbe"`
				}
			}
		}
	}
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

// Each manifest of a page is YAML, its selector finds its own pods, and its probes ask
// ports that it has and paths that the page's program serves.
func TestManifestsOfThePagesAreValid(t *testing.T) {
	found := 0
	for _, page := range documentation(t) {
		text := read(t, page)
		for _, block := range yamlBlock.FindAllStringSubmatch(text, -1) {
			found++
			decoder := yaml.NewDecoder(strings.NewReader(block[1]))
			for {
				var d deployment
				if err := decoder.Decode(&d); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%s: %v", page, err)
				}
				checkDeployment(t, page, text, d)
			}
		}
	}
	if found == 0 {
		t.Error("no page has a manifest")
	}
}

func checkDeployment(t *testing.T, page, text string, d deployment) {
	t.Helper()
	if d.APIVersion != "apps/v1" || d.Kind != "Deployment" || d.Metadata.Name == "" || d.Spec.Replicas < 2 || len(d.Spec.Template.Spec.Containers) == 0 {
		t.Errorf("%s: %+v is no deployment of several replicas", page, d)
	}
	for label, value := range d.Spec.Selector.MatchLabels {
		if d.Spec.Template.Metadata.Labels[label] != value {
			t.Errorf("%s: the selector wants %s=%s, the pods have %v", page, label, value, d.Spec.Template.Metadata.Labels)
		}
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		ports := make(map[string]bool)
		for _, p := range c.Ports {
			ports[p.Name] = true
		}
		for _, p := range []probe{c.LivenessProbe, c.ReadinessProbe} {
			if !ports[p.HTTPGet.Port] || !strings.Contains(text, `"GET `+p.HTTPGet.Path+`"`) {
				t.Errorf("%s: a probe asks %+v, which container %s does not serve", page, p.HTTPGet, c.Name)
			}
		}
	}
}
