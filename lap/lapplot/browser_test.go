package lapplot

import (
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/browser"
)

// inked tells of each chart whether its canvas shows the colour of a name.
const inked = `(name => plots.map(u => {
	const [r, g, b] = [1, 3, 5].map(i => parseInt(hue(name).slice(i, i + 2), 16));
	const { data } = u.ctx.getImageData(0, 0, u.ctx.canvas.width, u.ctx.canvas.height);
	let n = 0;
	for (let i = 0; i < data.length; i += 4) {
		if (Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 12 && data[i + 3] > 128) n++;
	}
	return n > 20;
}))`

// drawn tells of each chart whether it shows a series of that name.
func (f *Figure) drawn(name string) (in []bool) {
	for _, c := range f.Charts {
		in = append(in, slices.ContainsFunc(c.Series, func(s Series) bool { return s.Name == name }))
	}
	return in
}

// TestBrowser reads the page as a reader does: it draws, zooms, tells values, switches
// series and turns dark, without an error and without loading anything.
func TestBrowser(t *testing.T) {
	f := full()
	file := filepath.Join(t.TempDir(), "plot.html")
	if err := f.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	b := browser.OpenTab(t)
	b.Prefer("light")
	b.Open(file)
	b.Await("the charts are there", fmt.Sprintf("plots.length == %d && plots.every(u => u.status == 1)", len(f.Charts)))

	t.Run("draws", func(t *testing.T) {
		b.T = t
		for i, name := range f.names()[:2] { // the third is pale, so in no colour of its own
			want, err := json.Marshal(f.drawn(name))
			if err != nil {
				t.Fatal(err)
			}
			b.Await(fmt.Sprintf("%s is drawn in %s", name, want), fmt.Sprintf("JSON.stringify(%s(%d)) == '%s'", inked, i, want))
		}
	})

	t.Run("ticks are as in pictures", func(t *testing.T) {
		b.T = t
		for i, c := range f.Charts {
			spanX, spanY := c.spans()
			for _, a := range []struct {
				name string
				axis Axis
				span span
			}{{"x", c.X, spanX}, {"y", c.Y, spanY}} {
				for _, most := range []int{3, 7, 12} {
					var got [][2]any
					b.Eval(fmt.Sprintf("(a => ticks(a, a.low, a.high, %d))(figure.charts[%d].%s)", most, i, a.name), &got)
					var theirs, ours []string
					for _, tick := range got {
						theirs = append(theirs, fmt.Sprintf("%.6g %s", tick[0], tick[1]))
					}
					for _, tick := range a.axis.ticks(a.span, most) {
						ours = append(ours, fmt.Sprintf("%.6g %s", tick.at+0, tick.text)) // +0: no -0
					}
					if diff := cmp.Diff(ours, theirs); diff != "" {
						t.Errorf("%s, axis %s, about %d ticks: picture (-), page (+)\n%s", c.Title, a.name, most, diff)
					}
				}
			}
		}
	})

	t.Run("tells values", func(t *testing.T) {
		b.T = t
		for i := range f.Charts {
			x, y := b.Centre(fmt.Sprintf("plots[%d].over", i))
			b.Mouse("mouseMoved", x-1, y, 0)
			b.Mouse("mouseMoved", x, y, 0)
			b.Await("the box at the cursor", fmt.Sprintf(
				`(box => !box.hidden && /\d.*(ns|µs|%%)/.test(box.textContent) && box.textContent.includes(figure.names[0]))(document.querySelectorAll(".hover")[%d])`, i))
		}
	})

	t.Run("tells why a point does not count", func(t *testing.T) {
		b.T = t
		b.Centre("plots[3].over")
		var at [2]float64
		b.Eval(`(u => { const r = u.over.getBoundingClientRect(); return [r.x + u.valToPos(0.5, "x"), r.y + u.valToPos(13, "y")]; })(plots[3])`, &at)
		const told = `document.querySelectorAll(".hover")[3].textContent.includes("left out: a trace")`
		b.Mouse("mouseMoved", at[0], at[1]+30, 0)
		b.Await("beside the point", "!"+told)
		b.Mouse("mouseMoved", at[0]+2, at[1]-1, 0)
		b.Await("on the point", told)
	})

	t.Run("zooms", func(t *testing.T) {
		b.T = t
		width := func() (w float64) {
			b.Eval("plots[0].scales.x.max - plots[0].scales.x.min", &w)
			return w
		}
		whole := width()
		x, y := b.Centre("plots[0].over")
		b.Mouse("mouseMoved", x-100, y, 0)
		b.Mouse("mousePressed", x-100, y, 1)
		for _, dx := range []float64{-50, 0, 50, 100} {
			b.Mouse("mouseMoved", x+dx, y, 0)
		}
		b.Mouse("mouseReleased", x+100, y, 1)
		b.Await("a stretch is shown", fmt.Sprintf("plots[0].scales.x.max - plots[0].scales.x.min < 0.5 * %g", whole))
		b.Await("Show all is offered", `!document.querySelectorAll(".reset")[0].hidden`)
		x, y = b.Centre(`document.querySelectorAll(".reset")[0]`)
		b.Click(x, y, 1)
		b.Await("all is shown again", fmt.Sprintf("Math.abs(plots[0].scales.x.max - plots[0].scales.x.min - %g) < 1e-6 * %[1]g", whole))

		b.Eval("plots[0].setScale('x', { min: 10, max: 20 })", nil)
		b.Await("a stretch is shown", "plots[0].scales.x.max == 20")
		x, y = b.Centre("plots[0].over")
		b.Click(x, y, 2)
		b.Await("a double click shows all", fmt.Sprintf("Math.abs(plots[0].scales.x.max - plots[0].scales.x.min - %g) < 1e-6 * %[1]g", whole))
	})

	t.Run("switches series", func(t *testing.T) {
		b.T = t
		const key = `document.querySelectorAll("#keys button")[1]`
		x, y := b.Centre(key)
		b.Click(x, y, 1)
		b.Await("series 1 is gone", fmt.Sprintf("!%s(1).includes(true) && %s.getAttribute('aria-pressed') == 'false'", inked, key))
		b.Await("series 0 is not", fmt.Sprintf("%s(0).includes(true)", inked))
		x, y = b.Centre(key)
		b.Click(x, y, 1)
		b.Await("series 1 is back", fmt.Sprintf("%s(1).includes(true) && %s.getAttribute('aria-pressed') == 'true'", inked, key))
	})

	t.Run("turns dark", func(t *testing.T) {
		b.T = t
		const paper = "getComputedStyle(document.body).backgroundColor"
		light := fmt.Sprintf("hue(0) == %q && %s(0).includes(true)", hex(lightInks[firstHue]), inked)
		dark := fmt.Sprintf("hue(0) == %q && %s(0).includes(true)", hex(darkInks[firstHue]), inked)
		b.Await("light", light)
		var before, after string
		b.Eval(paper, &before)
		b.Prefer("dark")
		b.Await("dark, as the reader prefers", dark)
		b.Eval(paper, &after)
		if before == after {
			t.Errorf("the paper is %s in light and dark", before)
		}
		x, y := b.Centre(`document.querySelector(".theme")`)
		b.Click(x, y, 1)
		b.Await("light, by the button", light)
	})

	b.T = t
	b.Clean()
}

// TestBrowserShowsSVG: the picture is valid to a browser, and follows its preference.
func TestBrowserShowsSVG(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plot.svg")
	if err := full().WriteFile(file); err != nil {
		t.Fatal(err)
	}
	b := browser.OpenTab(t)
	b.Open(file)
	for scheme, inks := range map[string][firstHue + hues]color.NRGBA{"light": lightInks, "dark": darkInks} {
		b.Prefer(scheme)
		for class, c := range map[string]color.NRGBA{"f0": inks[paper], "f1": inks[text], "s4": inks[firstHue]} {
			property := map[byte]string{'f': "fill", 's': "stroke"}[class[0]]
			b.Await(scheme+" "+class, fmt.Sprintf(`[...document.querySelectorAll(".%s")].some(e => getComputedStyle(e).%s == "rgb(%d, %d, %d)")`,
				class, property, c.R, c.G, c.B))
		}
	}
	var width float64
	b.Eval("document.querySelector('text').getBBox().width", &width)
	if !(width > 0) || math.IsInf(width, 0) {
		t.Errorf("the title is %v px wide", width)
	}
	b.Clean()
}

// TestBrowserShowsPages: a page within the page is shown whole, and what it says does not get out of its frame.
func TestBrowserShowsPages(t *testing.T) {
	f := full()
	f.Pages = []Page{{
		Title: `"><b>A & B`,
		HTML:  `<!doctype html><body style="margin:0"><div style="height:900px"></div><p id="end">"the' end</p><script>document.body.dataset.ran = 1</script>`,
	}}
	f.Up = Cell{Text: "<all>", Link: "index.html"}
	f.Tables = []Table{{Title: "Runs", Headers: []string{"commit", "time"}, Right: []int{1}, Rows: [][]Cell{{{Text: "3f2a", Link: "https://example.org/3f2a"}, {Text: "<31> ns"}}}}}
	file := filepath.Join(t.TempDir(), "plot.html")
	if err := f.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	b := browser.OpenTab(t)
	b.Open(file)
	b.Await("a table with links", `document.querySelector("td a").href == "https://example.org/3f2a" && document.querySelector("td.right").textContent == "<31> ns" &&
		document.getElementById("up").textContent == "<all>" && document.getElementById("up").getAttribute("href") == "index.html"`)
	for _, scheme := range []string{"dark", "light"} {
		b.Prefer(scheme)
		b.Resize(390, 844)
		b.Await("it fits a telephone", fmt.Sprintf(`document.documentElement.dataset.theme == %q && document.documentElement.scrollWidth <= 390`, scheme))
	}
	b.Await("the frame has the page's theme", `document.querySelector("iframe").contentDocument.documentElement.dataset.theme == "light"`)
	const frame = `document.querySelector("iframe")`
	b.Await("the page runs", frame+`.contentDocument.body?.dataset.ran == 1`)
	b.Await("it is as high as what it shows", frame+`.clientHeight >= 900`)
	var texts []string
	b.Eval(`[document.querySelector("iframe").title, [...document.querySelectorAll("h2")].pop().textContent,
		document.querySelector("iframe").contentDocument.getElementById("end").textContent]`, &texts)
	if diff := cmp.Diff([]string{`"><b>A & B`, `"><b>A & B`, `"the' end`}, texts); diff != "" {
		t.Error(diff)
	}
}
