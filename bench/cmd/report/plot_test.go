package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// measured is what testdata/sample.txt holds.
func measured(t *testing.T) *measurements {
	t.Helper()
	m, err := read(filepath.Join("testdata", "sample.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestThePlotIsSVGAndNamesWhatWasMeasured(t *testing.T) {
	m := measured(t)
	file := filepath.Join(t.TempDir(), "rate.svg")
	if err := m.plot(file); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for decoder := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{">redquorum<", ">redsync<", ">redsync, fail-fast<", ">floor (no library)<", ">goroutines<", ">16<", ">2,000<"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("not in the plot: %s", want)
		}
	}
	if strings.Contains(string(svg), label(goRedis)) {
		t.Errorf("%s is in the plot and was not measured", label(goRedis))
	}
}

// A curve goes up by goroutines, with the medians of the sample.
func TestTheCurveOfALibrary(t *testing.T) {
	m := measured(t)
	got := m.curve(ours)
	if len(got) != 2 || got[0].X != 1 || got[0].Y != 1750 || got[1].X != 16 || got[1].Y != 13500 {
		t.Errorf("%v: want 1,750 at 1 and 13,500 at 16", got)
	}
}

func TestAPlotOfNothingIsRefused(t *testing.T) {
	m := sample(t, "BenchmarkLockUnlock/lib=redsync/goroutines=4 10 20 ns/op\n")
	file := filepath.Join(t.TempDir(), "rate.svg")
	if err := m.plot(file); err == nil || !strings.Contains(err.Error(), "no pairs/s") {
		t.Errorf("error %v: want that there are no pairs/s", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v: want no file", err)
	}
}

func TestASinglePointIsDrawn(t *testing.T) {
	m := sample(t, "BenchmarkLockUnlock/lib=redsync/goroutines=4 10 20 pairs/s\n")
	if err := m.plot(filepath.Join(t.TempDir(), "rate.svg")); err != nil {
		t.Error(err)
	}
}
