package demoroot

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redquorum/redquorum/cmd/internal/doctor"
	"github.com/redquorum/redquorum/cmd/internal/exec"
	"github.com/redquorum/redquorum/cmd/internal/locks"
	"github.com/redquorum/redquorum/cmd/internal/release"
	"github.com/redquorum/redquorum/cmd/internal/setup"
	"github.com/redquorum/redquorum/cmd/internal/status"
)

// The page lists the fields of each document of --json, all of them and no others.
func TestEveryFieldOfEveryDocumentIsInTheReference(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	for command, document := range map[string]any{
		"exec": exec.ExecReport{}, "status": status.StatusDocument{}, "locks": locks.LocksDocument{},
		"release": release.ReleaseReport{}, "doctor": doctor.Report{}, "init": setup.InitReport{},
	} {
		_, section, _ := strings.Cut(string(page), "\n## `"+command+"`\n")
		section, _, _ = strings.Cut(section, "\n## ")
		listed := map[string]bool{}
		for _, row := range regexp.MustCompile("(?m)^\\| `([^|]*)` \\|").FindAllStringSubmatch(section, -1) {
			for name := range strings.SplitSeq(row[1], "`, `") {
				listed[name] = true
			}
		}
		has := map[string]bool{}
		fields(reflect.TypeOf(document), "", has)
		if got, want := slices.Sorted(maps.Keys(listed)), slices.Sorted(maps.Keys(has)); !slices.Equal(got, want) {
			t.Errorf("%s: the page has\n%q, want\n%q", command, got, want)
		}
	}
}

// fields adds the paths of all fields of a type, such as masters[].error, as package json has them.
func fields(of reflect.Type, path string, to map[string]bool) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() == reflect.Slice && of.Elem().Kind() != reflect.Uint8 {
		fields(of.Elem(), path+"[]", to)
		return
	}
	if of.Kind() != reflect.Struct || of.PkgPath() == "time" {
		return
	}
	own := map[string]bool{} // they hide fields of an embedded struct
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		own[name] = true
		at := strings.TrimPrefix(path+"."+name, ".")
		to[at] = true
		fields(f.Type, at, to)
	}
	for f := range of.Fields() {
		if !f.Anonymous {
			continue
		}
		embedded := map[string]bool{}
		fields(f.Type, path, embedded)
		for at := range embedded {
			first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(at, path), "."), ".")
			if !own[strings.TrimSuffix(first, "[]")] {
				to[at] = true
			}
		}
	}
}
