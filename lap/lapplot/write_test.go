package lapplot

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// full is a figure with everything a figure can hold.
func full() *Figure {
	r := rand.New(rand.NewPCG(1, 2))
	laps := func(name string, base float64) *Laps {
		l := NewLaps(name)
		for range 20000 {
			l.Add(time.Duration(base * (1 + r.ExpFloat64())))
		}
		return l
	}
	a, b := laps("old <a&b>", 60), laps("new </script>", 70)
	history := &Chart{
		Title: "History", X: Axis{Title: "commit", Labels: []string{"a1", "b2", "c3"}}, Y: Axis{Title: "time per call", Unit: Time},
		Notes: []string{"a note"},
		Series: []Series{
			{Name: "old <a&b>", Style: Dots, Points: []Point{{X: 0, Y: 10, Low: 9, High: 12, Label: "first"}, At(1, 11), At(2, 15)},
				Marks: []Mark{{X: 2, Kind: "step", Label: "slower by 40 %"}, {X: 1, Kind: "release"}}},
			{Name: "left out", Style: Lines, Pale: true, Points: []Point{At(0, 10), At(1, 10), Gap(1.5), At(2, 14)}},
			{Name: "left out", Style: Dots, Pale: true, Points: []Point{{X: 0.5, Y: 13, Low: 13, High: 13, Label: "left out: a trace"}}},
		},
	}
	return &Figure{
		Title: "Plots \x00 of \xff everything", Report: "case   time\n  a<b> 31 ns \x00\n", Notes: []string{"made up"},
		Ratios: []Ratio{{A: "old", B: "new", Estimate: 1.031, Low: 1.024, High: 1.038, Verdict: "slower"}},
		Charts: []*Chart{Timeline(a, b), Density(a, b), Percentiles(a, b), history},
	}
}

func written(t *testing.T, f *Figure, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestSVG reads the picture as XML: titles, units, legend and a path for each series.
func TestSVG(t *testing.T) {
	type element struct {
		name, text string
		attributes map[string]string
	}
	var elements []element
	d := xml.NewDecoder(bytes.NewReader(written(t, full(), "svg")))
	group, paths := "", map[string]int{}
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attributes: map[string]string{}}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			if e.name == "g" {
				group = e.attributes["id"]
			}
			if e.name == "path" {
				paths[group]++
				if strings.ContainsAny(e.attributes["d"], "NIna") { // NaN, Inf
					t.Errorf("a path in %s goes nowhere: %.80s", group, e.attributes["d"])
				}
			}
			elements = append(elements, e)
		case xml.CharData:
			if len(elements) > 0 {
				elements[len(elements)-1].text += string(token)
			}
		}
	}
	var texts []string
	for _, e := range elements {
		if e.name == "text" {
			texts = append(texts, strings.TrimSpace(e.text))
		}
	}
	for _, want := range []string{
		"Plots \uFFFD of \uFFFD everything", "made up", "new takes 1.031 times (1.024–1.038) as long as old: slower",
		"Timeline", "lap", "time per lap", "old <a&b>", "new </script>", "10k", "0 ns",
		"Density", "share in each 5 ns", "100 ns", "0 %",
		"Percentiles", "share that takes no longer", "99.9 %",
		"History", "commit", "time per call", "a note", "step", "release", "a1", "c3", "14 ns",
	} {
		if !slices.Contains(texts, want) {
			t.Errorf("no text %q in %q", want, texts)
		}
	}
	for group, least := range map[string]int{"chart1": 6, "chart2": 4, "chart3": 2, "chart4": 5} {
		if paths[group] < least {
			t.Errorf("%d paths in %s, want at least %d", paths[group], group, least)
		}
	}
	root := elements[0].attributes
	if want := fmt.Sprintf("0 0 1000 %g", full().height()); root["viewBox"] != want {
		t.Errorf("viewBox %q, want %q", root["viewBox"], want)
	}
}

// TestPNG decodes, has the height of the charts, and shows each series.
func TestPNG(t *testing.T) {
	f := full()
	img, err := png.Decode(bytes.NewReader(written(t, f, "png")))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() != 1500 || b.Dy() != int(math.Ceil(1.5*f.height())) {
		t.Errorf("%v, the figure is %v px high", b, f.height())
	}
	count := map[color.Color]int{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			count[color.NRGBAModel.Convert(img.At(x, y))]++
		}
	}
	for i := range f.names() {
		if c := lightInks[hueOf(i)]; count[c] < 50 {
			t.Errorf("%d pixels have the colour %v of series %d", count[c], c, i)
		}
	}
}

// dataOf is what a page was given, as its script reads it.
func dataOf(t *testing.T, page []byte) (figure pageFigure) {
	t.Helper()
	match := regexp.MustCompile(`(?s)<script type="application/json" id="figure">(.*?)</script>`).FindSubmatch(page)
	if match == nil {
		t.Fatal("the page holds no data")
	}
	var raw struct {
		Names  []string
		Notes  []string
		Charts []struct {
			Title  string
			X, Y   struct{ Title, Scale string }
			Kinds  []string
			Series []struct {
				Name         int
				X            []float64
				Y, Low, High []*float64
			}
		}
	}
	if err := json.Unmarshal(match[1], &raw); err != nil {
		t.Fatal(err)
	}
	figure.Names, figure.Notes = raw.Names, raw.Notes
	for _, c := range raw.Charts {
		chart := pageChart{Title: c.Title, Kinds: c.Kinds}
		chart.X.Title, chart.Y.Title, chart.X.Scale = c.X.Title, c.Y.Title, c.X.Scale
		for _, s := range c.Series {
			if len(s.X) != len(s.Y) || s.Low != nil && (len(s.Low) != len(s.X) || len(s.High) != len(s.X)) {
				t.Errorf("%s has %d x, %d y, %d low, %d high", c.Title, len(s.X), len(s.Y), len(s.Low), len(s.High))
			}
			series := pageSeries{Name: s.Name, X: numbers{values: s.X}}
			for _, y := range s.Y {
				if y == nil {
					series.Y.add(math.NaN())
				} else {
					series.Y.add(*y)
				}
			}
			chart.Series = append(chart.Series, series)
		}
		figure.Charts = append(figure.Charts, chart)
	}
	return figure
}

// TestHTML: one file that loads nothing, with data that no name can break out of.
func TestHTML(t *testing.T) {
	page := written(t, full(), "html")
	data := dataOf(t, page)
	if want := []string{"old <a&b>", "new </script>", "left out"}; !slices.Equal(data.Names, want) {
		t.Errorf("names %q, want %q", data.Names, want)
	}
	var titles []string
	for _, c := range data.Charts {
		titles = append(titles, c.Title+": "+c.X.Title)
	}
	if want := []string{
		"Timeline: lap", "Density: time per lap", "Percentiles: share that takes no longer", "History: commit",
	}; !slices.Equal(titles, want) {
		t.Errorf("charts %q, want %q", titles, want)
	}
	if y := data.Charts[3].Series[1].Y.values; len(y) != 4 || !math.IsNaN(y[2]) {
		t.Errorf("the line with a gap is %v", y)
	}
	if n := bytes.Count(page, []byte("</script>")); n != 3 {
		t.Errorf("%d scripts end, 3 begin", n)
	}
	if !bytes.Contains(page, []byte(`content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"`)) {
		t.Error("the page may load something")
	}
	for _, loads := range []string{`\ssrc=`, `<link`, `@import`, `url\(`, `\bfetch\(`, `XMLHttpRequest`, `\bimport\(`} {
		if at := regexp.MustCompile(loads).FindIndex(page); at != nil {
			t.Errorf("the page loads: %q", page[at[0]:at[0]+60])
		}
	}
}

// TestAssets holds assets/README.md to the files beside it.
func TestAssets(t *testing.T) {
	readme, err := os.ReadFile("assets/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"uPlot.iife.min.js", "uPlot.min.css"} {
		file, err := os.ReadFile(filepath.Join("assets", name))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(file)
		if line := fmt.Sprintf("%x", sum) + "  " + name; !bytes.Contains(readme, []byte(line)) {
			t.Errorf("assets/README.md has no line %q", line)
		}
	}
}

// TestSmall: any number of laps makes a picture below 300 kB in each format.
func TestSmall(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, series := range []int{1, 3} {
		var laps []*Laps
		for i := range series {
			l := NewLaps(fmt.Sprint("series ", i))
			for range 1_000_000 / series {
				l.Add(time.Duration(100 * math.Exp(2*r.NormFloat64())))
			}
			laps = append(laps, l)
		}
		for _, format := range Formats {
			file := filepath.Join(t.TempDir(), "laps."+format)
			if err := All(file, laps...); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() > 300e3 {
				t.Errorf("%d series take %d bytes of %s", series, info.Size(), format)
			}
		}
	}
}

// TestOddValuesDraw: nothing that a lap can be breaks a format.
func TestOddValuesDraw(t *testing.T) {
	for name, durations := range map[string][]time.Duration{
		"one": {5}, "zero": {0, 0, 0}, "equal": slices.Repeat([]time.Duration{90}, 3000),
		"negative": {-1 << 62, -3, 4}, "huge": {1, math.MaxInt64, math.MaxInt64}, "least": {math.MinInt64},
	} {
		for _, format := range Formats {
			if err := All(filepath.Join(t.TempDir(), "x."+format), Collect(name, slices.Values(durations))); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, samples := range [][]float64{{math.NaN(), 1e-300}, {1e300, -1e300}, {0.28}, {math.Inf(-1), 0}} {
		for _, format := range Formats {
			if err := All(filepath.Join(t.TempDir(), "x."+format), FromSamples("s", samples)); err != nil {
				t.Errorf("%v: %v", samples, err)
			}
		}
	}
}

func TestNothingToDraw(t *testing.T) {
	dir := t.TempDir()
	for _, laps := range [][]*Laps{nil, {NewLaps("none")}, {FromSamples("none", []float64{math.NaN()})}} {
		for _, format := range Formats {
			if err := All(filepath.Join(dir, "x."+format), laps...); !errors.Is(err, ErrEmpty) {
				t.Errorf("no laps as %s: %v", format, err)
			}
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestFileIsWholeOrNone: after an error there is the file that was there before, or none.
func TestFileIsWholeOrNone(t *testing.T) {
	f := full()
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept.svg")
	if err := os.WriteFile(kept, []byte("before"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := (&Figure{}).WriteFile(kept); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty figure: %v", err)
	}
	if got, _ := os.ReadFile(kept); string(got) != "before" {
		t.Errorf("the file that was there is now %.40q", got)
	}
	for _, name := range []string{
		filepath.Join(dir, "no", "such", "x.svg"), filepath.Join(kept, "x.svg"), filepath.Join(dir, "x.gif"), filepath.Join(dir, "x"), dir,
	} {
		if err := f.WriteFile(name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	link := filepath.Join(dir, "link.svg")
	if err := os.Symlink(kept, link); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteFile(link); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(kept)
	if err != nil || info.Mode().Perm() != 0o640 || info.Size() < 1000 {
		t.Errorf("behind the link: %v, %v", info, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFullDevice(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no /dev/full")
	}
	link := filepath.Join(t.TempDir(), "full.svg")
	if err := os.Symlink("/dev/full", link); err != nil {
		t.Fatal(err)
	}
	if err := full().WriteFile(link); err == nil || !strings.Contains(err.Error(), link) {
		t.Errorf("a full device: %v", err)
	}
}
