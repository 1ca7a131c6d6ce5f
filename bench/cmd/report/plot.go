package main

import (
	"bytes"
	"fmt"
	"image/color"
	"os"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	plotWidth, plotHeight = 21 * vg.Centimeter, 10 * vg.Centimeter
	legendWidth           = 7 * vg.Centimeter // of the plot's, at its right
)

// curves are the libraries of the plot, in the order of its legend: colours that
// people who see few of them can tell apart (Okabe and Ito), dashed where it is
// not the same work.
var curves = []struct {
	lib    string
	colour color.RGBA
	dashed bool
}{
	{floor, color.RGBA{0x80, 0x80, 0x80, 0xff}, true},
	{ours, color.RGBA{0xd5, 0x5e, 0x00, 0xff}, false},
	{single, color.RGBA{0xcc, 0x79, 0xa7, 0xff}, true},
	{peer, color.RGBA{0x00, 0x72, 0xb2, 0xff}, false},
	{failFast, color.RGBA{0x56, 0xb4, 0xe9, 0xff}, false},
	{goRedis, color.RGBA{0x00, 0x9e, 0x73, 0xff}, false},
}

// plot draws pairs a second of BenchmarkLockUnlock over goroutines, both axes
// logarithmic, to an SVG file.
func (m *measurements) plot(file string) error {
	p := plot.New()
	p.Title.Text = "lock + unlock, a key for every goroutine"
	p.X.Label.Text, p.Y.Label.Text = "goroutines", "pairs/s"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.Y.Tick.Marker = oneTwoFive{}
	legend := plot.NewLegend()
	legend.Top, legend.Left = true, true
	legend.ThumbnailWidth, legend.Padding = vg.Centimeter, vg.Millimeter
	for _, text := range []*font.Font{
		&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font,
		&p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &legend.TextStyle.Font,
	} {
		text.Variant = "Sans"
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xe0}, color.Gray{0xe0}
	p.Add(grid)

	var sizes []float64
	for _, c := range curves {
		points := m.curve(c.lib)
		if len(points) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return fmt.Errorf("plot of %s: %w", c.lib, err)
		}
		line.Color, line.Width = c.colour, vg.Points(1.5)
		if c.dashed {
			line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		}
		dots.Color, dots.Shape, dots.Radius = c.colour, draw.CircleGlyph{}, vg.Points(2.5)
		p.Add(line, dots)
		legend.Add(label(c.lib), line, dots)
		for _, at := range points {
			sizes = append(sizes, at.X)
		}
	}
	if len(sizes) == 0 {
		return fmt.Errorf("plot: no %s of %s", pairsPerSecond, lockUnlock)
	}
	slices.Sort(sizes)
	p.X.Tick.Marker = ticksAt(slices.Compact(sizes))
	return writeSVG(file, func(c draw.Canvas) {
		c.SetColor(color.White)
		c.Fill(c.Rectangle.Path())
		p.Draw(draw.Crop(c, 0, -legendWidth, 0, 0))
		legend.Draw(draw.Crop(c, plotWidth-legendWidth+vg.Millimeter, 0, 0, -vg.Centimeter))
	})
}

// curve is a library's points, by goroutines.
func (m *measurements) curve(lib string) plotter.XYs {
	var points plotter.XYs
	for what := range m.series {
		rate := m.of(what, pairsPerSecond)
		if what.benchmark == lockUnlock && what.lib == lib && what.by == "goroutines" && rate.median > 0 {
			points = append(points, plotter.XY{X: float64(what.n), Y: rate.median})
		}
	}
	slices.SortFunc(points, func(a, b plotter.XY) int { return int(a.X) - int(b.X) })
	return points
}

func ticksAt(values []float64) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for _, v := range values {
		ticks = append(ticks, plot.Tick{Value: v, Label: thousands(strconv.FormatFloat(v, 'f', 0, 64))})
	}
	return ticks
}

// oneTwoFive has a tick at 1, 2 and 5 times each power of ten.
type oneTwoFive struct{}

func (oneTwoFive) Ticks(least, most float64) []plot.Tick {
	var values []float64
	for power := 1.0; power <= most; power *= 10 {
		for _, digit := range []float64{1, 2, 5} {
			if v := digit * power; v >= least && v <= most {
				values = append(values, v)
			}
		}
	}
	return ticksAt(values)
}

func writeSVG(file string, paint func(draw.Canvas)) error {
	canvas := vgsvg.New(plotWidth, plotHeight)
	paint(draw.New(canvas))
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	// Whoever looks at it may not have the font.
	text := bytes.ReplaceAll(svg.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
	return os.WriteFile(file, text, 0o644)
}
