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

// centre is the middle of an element in the window, which is scrolled to show it.
func (b *tab) centre(element string) (x, y float64) {
	b.t.Helper()
	var at [2]float64
	b.eval(fmt.Sprintf(`(e => {
		e.scrollIntoView({ block: "center", behavior: "instant" });
		const r = e.getBoundingClientRect();
		return [r.x + r.width / 2, r.y + r.height / 2];
	})(%s)`, element), &at)
	return at[0], at[1]
}

// TestBrowser reads the page as a reader does: it draws, zooms, tells values, switches
// series and turns dark, without an error and without loading anything.
func TestBrowser(t *testing.T) {
	f := full()
	file := filepath.Join(t.TempDir(), "plot.html")
	if err := f.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	b := openTab(t)
	b.prefer("light")
	b.open(file)
	b.await("the charts are there", fmt.Sprintf("plots.length == %d && plots.every(u => u.status == 1)", len(f.Charts)))

	t.Run("draws", func(t *testing.T) {
		b.t = t
		for i, name := range f.names()[:2] { // the third is pale, so in no colour of its own
			want, err := json.Marshal(f.drawn(name))
			if err != nil {
				t.Fatal(err)
			}
			b.await(fmt.Sprintf("%s is drawn in %s", name, want), fmt.Sprintf("JSON.stringify(%s(%d)) == '%s'", inked, i, want))
		}
	})

	t.Run("ticks are as in pictures", func(t *testing.T) {
		b.t = t
		for i, c := range f.Charts {
			spanX, spanY := c.spans()
			for _, a := range []struct {
				name string
				axis Axis
				span span
			}{{"x", c.X, spanX}, {"y", c.Y, spanY}} {
				for _, most := range []int{3, 7, 12} {
					var got [][2]any
					b.eval(fmt.Sprintf("(a => ticks(a, a.low, a.high, %d))(figure.charts[%d].%s)", most, i, a.name), &got)
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
		b.t = t
		for i := range f.Charts {
			x, y := b.centre(fmt.Sprintf("plots[%d].over", i))
			b.mouse("mouseMoved", x-1, y, 0)
			b.mouse("mouseMoved", x, y, 0)
			b.await("the box at the cursor", fmt.Sprintf(
				`(box => !box.hidden && /\d.*(ns|µs|%%)/.test(box.textContent) && box.textContent.includes(figure.names[0]))(document.querySelectorAll(".hover")[%d])`, i))
		}
	})

	t.Run("tells why a point does not count", func(t *testing.T) {
		b.t = t
		b.centre("plots[3].over")
		var at [2]float64
		b.eval(`(u => { const r = u.over.getBoundingClientRect(); return [r.x + u.valToPos(0.5, "x"), r.y + u.valToPos(13, "y")]; })(plots[3])`, &at)
		const told = `document.querySelectorAll(".hover")[3].textContent.includes("left out: a trace")`
		b.mouse("mouseMoved", at[0], at[1]+30, 0)
		b.await("beside the point", "!"+told)
		b.mouse("mouseMoved", at[0]+2, at[1]-1, 0)
		b.await("on the point", told)
	})

	t.Run("zooms", func(t *testing.T) {
		b.t = t
		width := func() (w float64) {
			b.eval("plots[0].scales.x.max - plots[0].scales.x.min", &w)
			return w
		}
		whole := width()
		x, y := b.centre("plots[0].over")
		b.mouse("mouseMoved", x-100, y, 0)
		b.mouse("mousePressed", x-100, y, 1)
		for _, dx := range []float64{-50, 0, 50, 100} {
			b.mouse("mouseMoved", x+dx, y, 0)
		}
		b.mouse("mouseReleased", x+100, y, 1)
		b.await("a stretch is shown", fmt.Sprintf("plots[0].scales.x.max - plots[0].scales.x.min < 0.5 * %g", whole))
		b.await("Show all is offered", `!document.querySelectorAll(".reset")[0].hidden`)
		x, y = b.centre(`document.querySelectorAll(".reset")[0]`)
		b.click(x, y, 1)
		b.await("all is shown again", fmt.Sprintf("Math.abs(plots[0].scales.x.max - plots[0].scales.x.min - %g) < 1e-6 * %[1]g", whole))

		b.eval("plots[0].setScale('x', { min: 10, max: 20 })", nil)
		b.await("a stretch is shown", "plots[0].scales.x.max == 20")
		x, y = b.centre("plots[0].over")
		b.click(x, y, 2)
		b.await("a double click shows all", fmt.Sprintf("Math.abs(plots[0].scales.x.max - plots[0].scales.x.min - %g) < 1e-6 * %[1]g", whole))
	})

	t.Run("switches series", func(t *testing.T) {
		b.t = t
		const key = `document.querySelectorAll("#keys button")[1]`
		x, y := b.centre(key)
		b.click(x, y, 1)
		b.await("series 1 is gone", fmt.Sprintf("!%s(1).includes(true) && %s.getAttribute('aria-pressed') == 'false'", inked, key))
		b.await("series 0 is not", fmt.Sprintf("%s(0).includes(true)", inked))
		x, y = b.centre(key)
		b.click(x, y, 1)
		b.await("series 1 is back", fmt.Sprintf("%s(1).includes(true) && %s.getAttribute('aria-pressed') == 'true'", inked, key))
	})

	t.Run("turns dark", func(t *testing.T) {
		b.t = t
		const paper = "getComputedStyle(document.body).backgroundColor"
		light := fmt.Sprintf("hue(0) == %q && %s(0).includes(true)", hex(lightInks[firstHue]), inked)
		dark := fmt.Sprintf("hue(0) == %q && %s(0).includes(true)", hex(darkInks[firstHue]), inked)
		b.await("light", light)
		var before, after string
		b.eval(paper, &before)
		b.prefer("dark")
		b.await("dark, as the reader prefers", dark)
		b.eval(paper, &after)
		if before == after {
			t.Errorf("the paper is %s in light and dark", before)
		}
		x, y := b.centre(`document.querySelector(".theme")`)
		b.click(x, y, 1)
		b.await("light, by the button", light)
	})

	b.t = t
	for _, fault := range b.faults {
		t.Error("the page complains: ", fault)
	}
	for _, url := range b.requests {
		if url != "file://"+filepath.ToSlash(file) {
			t.Error("the page asks for ", url)
		}
	}
}

// TestBrowserShowsSVG: the picture is valid to a browser, and follows its preference.
func TestBrowserShowsSVG(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plot.svg")
	if err := full().WriteFile(file); err != nil {
		t.Fatal(err)
	}
	b := openTab(t)
	b.open(file)
	for scheme, inks := range map[string][firstHue + hues]color.NRGBA{"light": lightInks, "dark": darkInks} {
		b.prefer(scheme)
		for class, c := range map[string]color.NRGBA{"f0": inks[paper], "f1": inks[text], "s4": inks[firstHue]} {
			property := map[byte]string{'f': "fill", 's': "stroke"}[class[0]]
			b.await(scheme+" "+class, fmt.Sprintf(`[...document.querySelectorAll(".%s")].some(e => getComputedStyle(e).%s == "rgb(%d, %d, %d)")`,
				class, property, c.R, c.G, c.B))
		}
	}
	var width float64
	b.eval("document.querySelector('text').getBBox().width", &width)
	if !(width > 0) || math.IsInf(width, 0) {
		t.Errorf("the title is %v px wide", width)
	}
	for _, fault := range b.faults {
		t.Error("the picture is faulty: ", fault)
	}
}
