package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/browser"
	"github.com/moonlap/moonlap/internal/stat"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// box is the element of a frame of a name, in JavaScript; undefined where none is drawn.
func box(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#graph div")].find(e => e.title.startsWith(%q))`, name+" · ")
}

// open shows a page in a browser.
func open(t *testing.T, write func(to io.Writer, report string) error, report string) *browser.Tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "p.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(write(f, report), f.Close()); err != nil {
		t.Fatal(err)
	}
	b := browser.OpenTab(t)
	b.Open(file)
	return b
}

func choose(b *browser.Tab, id, value string) {
	b.Eval(fmt.Sprintf(`(s => { s.value = %q; s.dispatchEvent(new Event("change")); })(document.getElementById(%q))`, value, id), nil)
}

func click(b *browser.Tab, element string) {
	x, y := b.Centre(element)
	b.Click(x, y, 1)
}

// told awaits that the frame of a name says something.
func told(t *testing.T, b *browser.Tab, name, want string) {
	t.Helper()
	b.Await(name+" has "+want, fmt.Sprintf(`%s?.title.includes(%q)`, box(name), want))
}

// TestBrowser reads the page as a reader does: it draws, zooms, finds, chooses by label, and turns
// around, without an error and without loading anything.
func TestBrowser(t *testing.T) {
	p := example()
	p.Add([]Frame{cMain, {Function: "other", File: "</script><b>.so", Kind: C}}, map[string]string{"uri": `<i>"&`}, 2)
	p.Merge()
	b := open(t, p.WriteHTML, "moonlap profile\n  5 <i>samples")
	choose := func(value string) { choose(b, "label-uri", value) }
	search := func(text string) {
		b.Eval(fmt.Sprintf(`(s => { s.value = %q; s.dispatchEvent(new Event("input")); })(document.getElementById("search"))`, text), nil)
	}
	click := func(element string) { click(b, element) }
	told := func(name, want string) { t.Helper(); told(t, b, name, want) }

	told("all", "100.0 % · 8 samples, 80.0 ms")
	told("main", "8 samples")
	told("slow@app.lua:12", "3 samples")
	told("fast@app.lua:21_[j]", "2 samples")
	told("ksys_write_[k]", "1 samples")
	told("other", "2 samples")
	b.Await("the title is text", `document.querySelector("h1").textContent == "worker <1> & more" && !document.querySelector(":not(pre) > b, i:not([class])")`)
	b.Await("frames are as wide as their share", fmt.Sprintf(`(() => {
		const share = %s.getBoundingClientRect().width / %s.getBoundingClientRect().width;
		return Math.abs(share - 3 / 8) < 0.01;
	})()`, box("slow@app.lua:12"), box("all")))

	click(box("slow@app.lua:12"))
	b.Await("the frame is as wide as the graph", fmt.Sprintf("%s.getBoundingClientRect().width > 0.99 * document.getElementById('graph').clientWidth", box("slow@app.lua:12")))
	b.Await("other frames are gone", "!"+box("fast@app.lua:21_[j]"))
	click(box("all"))
	told("fast@app.lua:21_[j]", "2 samples")

	search("SLOW|fast")
	b.Await("found", `document.getElementById("found").textContent == "2 functions, 62.5 % of the samples" && document.querySelectorAll("#graph div.found").length == 2`)
	search("all")
	b.Await("the root is none", `document.getElementById("found").textContent.startsWith("0 functions, 0.0 %") && !document.querySelector("#graph div.found")`)
	search("[j") // no regular expression, so it is text
	b.Await("text is found", fmt.Sprintf(`%s.classList.contains("found")`, box("fast@app.lua:21_[j]")))

	choose("/one")
	told("all", "4 samples")
	told("fast@app.lua:21_[j]", "1 samples")
	choose("")
	told("all", "1 samples") // the stack without a request
	choose(`<i>"&`)
	told("other", "2 samples")

	click(`document.getElementById("reset")`)
	told("all", "8 samples")
	b.Await("nothing is found any more", `!document.querySelector("#graph div.found") && document.getElementById("search").value == ""`)

	click(`document.getElementById("inverted")`)
	told("fast@app.lua:21_[j]", "2 samples")
	b.Await("innermost frames hang on the root", fmt.Sprintf(`parseFloat(%s.style.top) > parseFloat(%s.style.top)`, box("slow@app.lua:12"), box("string.format")))
	click(`document.getElementById("upwards")`)
	b.Await("the root is at the bottom", fmt.Sprintf(`parseFloat(%s.style.top) < parseFloat(%s.style.top)`, box("string.format"), box("all")))
	click(`document.getElementById("reset")`)
	b.Await("the root is at the top", fmt.Sprintf(`parseFloat(%s.style.top) == 0`, box("all")))
	b.Await("the report stands beside it", `document.querySelector("#report b").textContent == "moonlap profile" && document.getElementById("report").textContent.includes("5 <i>samples")`)
	b.Clean()
}

// TestBrowserViews: the table lists all functions by their own share, one function stands between its callers and callees, and every
// view fits windows of a desk and of a hand, in both themes.
func TestBrowserViews(t *testing.T) {
	p := example()
	p.Title = "views"
	b := open(t, p.WriteHTML, "moonlap profile\n"+strings.Repeat("  a line as long as the report has them beside a flame graph\n", 3))
	view := func(name string) { click(b, fmt.Sprintf(`document.querySelector("#views button[value=%s]")`, name)) }
	row := func(name string) string {
		return fmt.Sprintf(`[...document.querySelectorAll("#graph tbody tr")].find(r => r.lastChild.textContent == %q)`, name)
	}
	view("table")
	b.Await("the largest of its own is first", `document.querySelector("#graph tbody tr").textContent.startsWith("50.0 %50.0 %3string.format")`)
	b.Await("what only calls has none of its own", row("slow@app.lua:12")+`.textContent.startsWith("0.0 %50.0 %3")`)
	click(b, `document.querySelectorAll("#graph th button")[1]`)
	b.Await("by total", `document.querySelector("#graph tbody tr").textContent.startsWith("0.0 %100.0 %6")`)
	click(b, row("fast@app.lua:21_[j]"))
	top := func(name string) string { return fmt.Sprintf(`parseFloat(%s.style.top)`, box(name)) }
	b.Await("callers stand above", top("main")+" < "+top("main chunk@=content_by_lua(nginx.conf:3):1")+" && "+
		top("main chunk@=content_by_lua(nginx.conf:3):1")+" < "+top("fast@app.lua:21_[j]")+" && !"+box("slow@app.lua:12"))
	click(b, box("main chunk@=content_by_lua(nginx.conf:3):1"))
	b.Await("callees below", top("main")+" == 0 && "+top("string.format")+" > "+top("slow@app.lua:12")+" && "+top("slow@app.lua:12")+" > "+top("main chunk@=content_by_lua(nginx.conf:3):1"))

	click(b, `document.getElementById("theme")`)
	b.Await("the other theme", `document.documentElement.dataset.theme == "dark" && getComputedStyle(document.body).backgroundColor == "rgb(22, 24, 28)"`)
	for _, width := range []int{1280, 390} {
		b.Resize(width, 900)
		for _, name := range []string{"graph", "table", "function"} {
			view(name)
			b.Await(fmt.Sprint(name, " fits ", width), fmt.Sprintf(`innerWidth == %d && document.documentElement.scrollWidth <= innerWidth`, width))
			b.Await("none of the report's lines is cut or broken", `(r => r.scrollWidth <= r.clientWidth && r.textContent.trim().split("\n").length * 16 > r.offsetHeight)(document.getElementById("report"))`)
			b.Picture(fmt.Sprint("flame-", name, "-", width))
		}
	}
	b.Clean()
}

// TestBrowserPicture: the picture zooms by clicks.
func TestBrowserPicture(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.svg")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(example().WriteSVG(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	b := browser.OpenTab(t)
	b.Open(file)
	frame := func(name string) string {
		return fmt.Sprintf(`[...document.querySelectorAll(".frame")].find(e => e.children[0].textContent.startsWith(%q))`, name+" · ")
	}
	click(b, frame("fast@app.lua:21_[j]"))
	b.Await("it is as wide as the root", fmt.Sprintf(`%s.children[1].getAttribute("width") == %s.children[1].getAttribute("width") && %s.style.display == "none"`,
		frame("fast@app.lua:21_[j]"), frame("all"), frame("slow@app.lua:12")))
	click(b, frame("all"))
	b.Await("all is back", fmt.Sprintf(`%s.style.display == "" && %s.children[1].getAttribute("width") < 600`, frame("slow@app.lua:12"), frame("fast@app.lua:21_[j]")))
	b.Clean()
}

// TestBrowserRooted: each value of a label stands on the root, those without it together, and can be
// zoomed into.
func TestBrowserRooted(t *testing.T) {
	b := open(t, example().WriteHTML, "")
	told(t, b, "main", "6 samples")
	choose(b, "rooted", "uri")
	told(t, b, "uri: /one", "4 samples")
	told(t, b, "uri: /two", "1 samples")
	told(t, b, "uri: none", "1 samples")
	click(b, box("uri: /one"))
	told(t, b, "fast@app.lua:21_[j]", "1 samples")
	b.Await("others are gone", "!"+box("uri: /two"))
	b.Await("they have colours of their own", fmt.Sprintf(`getComputedStyle(%s).backgroundColor.startsWith("rgb")`, box("uri: /one")))
	click(b, `document.getElementById("inverted")`)
	told(t, b, "uri: /two", "1 samples")
	b.Await("innermost frames stand on the label", fmt.Sprintf(`parseFloat(%s.style.top) < parseFloat(%s.style.top)`, box("uri: /two"), box("string.format")))
	click(b, `document.getElementById("reset")`)
	told(t, b, "main", "6 samples")
	b.Await("no label any more", "!"+box("uri: /one"))
	b.Clean()
}

// TestBrowserDiff: a difference is coloured where it is clear, says both shares, and changes its
// widths.
func TestBrowserDiff(t *testing.T) {
	d := changed()
	b := open(t, d.WriteHTML, "")
	told(t, b, "slow@app.lua", "before 60.0 % of 1000 samples, after 20.0 % of 500 · −40.0 points")
	told(t, b, "main", "+0.0 points, which is within the sampling error")
	width := func(name string, share float64) {
		t.Helper()
		b.Await(fmt.Sprintf("%s is %g wide", name, share), fmt.Sprintf(`Math.abs(%s.getBoundingClientRect().width / %s.getBoundingClientRect().width - %g) < 0.01`,
			box(name), box("all"), share))
	}
	class := func(name, want string) {
		t.Helper()
		b.Await(name+" is "+want, fmt.Sprintf("%s.classList.contains(%q)", box(name), want))
	}
	class("slow@app.lua", "less")
	class("fast@app.lua", "more")
	class("main", "same")
	b.Await("full colours", fmt.Sprintf(`(c => c != getComputedStyle(%s).backgroundColor && c != getComputedStyle(%s).backgroundColor)(getComputedStyle(%s).backgroundColor)`,
		box("fast@app.lua"), box("main"), box("slow@app.lua")))
	b.Await("a legend", `document.querySelectorAll("#legend span").length == 3`)
	width("slow@app.lua", 0.2)
	choose(b, "width", "before")
	width("slow@app.lua", 0.6)
	choose(b, "rooted", "uri")
	told(t, b, "uri: /one", "before 60.0 %")
	choose(b, "label-uri", "/two")
	told(t, b, "fast@app.lua", "before 100.0 % of 399 samples, after 100.0 % of 398 · +0.0 points, which is within")
	click(b, `document.getElementById("reset")`)
	width("slow@app.lua", 0.2)
	b.Clean()
}

// TestBrowserDiffViews: the table of a difference is in order of its changes, and one function stands between its callers and callees,
// each with what changed; in windows of a desk and of a hand.
func TestBrowserDiffViews(t *testing.T) {
	d := changed()
	b := open(t, d.WriteHTML, "moonlap profile\n  what changed")
	view := func(name string) { click(b, fmt.Sprintf(`document.querySelector("#views button[value=%s]")`, name)) }
	row := func(name string) string {
		return fmt.Sprintf(`[...document.querySelectorAll("#graph tbody tr")].find(r => r.lastChild.textContent == %q)`, name)
	}
	view("table")
	b.Await("columns", `[...document.querySelectorAll("#graph th")].map(e => e.textContent).join() == "before,after,change,function"`)
	b.Await("the largest change is first", `/^(slow|fast)@app.lua$/.test(document.querySelector("#graph tbody tr").lastChild.textContent)`)
	b.Await("what changed", row("slow@app.lua")+`.textContent.startsWith("60.0 %20.0 %−40.0 points")`)
	b.Await("in the colours of the graph", row("slow@app.lua")+`.querySelector("i").className == "less" && `+row("fast@app.lua")+`.querySelector("i").className == "more" && `+
		row("main")+`.querySelector("i").className == "same"`)
	b.Await("what may be chance", row("main")+`.cells[2].textContent == "may be chance"`)
	click(b, row("slow@app.lua"))
	told(t, b, "slow@app.lua", "before 60.0 % of 1000 samples, after 20.0 % of 500 · −40.0 points")
	b.Await("its caller stands above", fmt.Sprintf(`parseFloat(%s.style.top) < parseFloat(%s.style.top) && !%s`, box("main"), box("slow@app.lua"), box("fast@app.lua")))
	b.Await("coloured by its change", box("slow@app.lua")+`.classList.contains("less")`)
	click(b, box("main"))
	b.Await("callees below", fmt.Sprintf(`parseFloat(%s.style.top) > parseFloat(%s.style.top) && %s`, box("slow@app.lua"), box("main"), box("fast@app.lua")))
	for _, width := range []int{1280, 390} {
		b.Resize(width, 900)
		for _, name := range []string{"graph", "table", "function"} {
			view(name)
			b.Await(fmt.Sprint(name, " fits ", width), fmt.Sprintf(`innerWidth == %d && document.documentElement.scrollWidth <= innerWidth`, width))
			b.Await("none of the report's lines is cut or broken", `(r => r.scrollWidth <= r.clientWidth && r.textContent.trim().split("\n").length * 16 > r.offsetHeight)(document.getElementById("report"))`)
			b.Picture(fmt.Sprint("diff-", name, "-", width))
		}
	}
	b.Clean()
}

// TestBrowserShares: the page judges changes as the tables do, to the last digits of P.
func TestBrowserShares(t *testing.T) {
	b := open(t, changed().WriteHTML, "")
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 60 {
		slices := []int{1, 2, 20}[trial%3]
		looks := []int64{3, 100, 50_000}[r.IntN(3)]
		of := [2][]int64{}
		for side := range of {
			for range slices {
				of[side] = append(of[side], r.Int64N(looks))
			}
		}
		var before, after []stat.Seen
		var counts [2][][]int64
		for range 1 + r.IntN(30) {
			share := r.Float64() * r.Float64()
			for side := range counts {
				var n []int64
				for _, most := range of[side] {
					n = append(n, int64(float64(most)*share*(0.8+0.4*r.Float64())/1.2))
				}
				counts[side] = append(counts[side], n)
			}
			before = append(before, stat.Seen{Count: counts[0][len(counts[0])-1], Of: of[0]})
			after = append(after, stat.Seen{Count: counts[1][len(counts[1])-1], Of: of[1]})
		}
		args, err := json.Marshal([]any{counts[0], counts[1], of[0], of[1], 1 - estimate.Level})
		if err != nil {
			t.Fatal(err)
		}
		var told []struct {
			By, P    float64
			Distinct bool
		}
		b.Eval(fmt.Sprintf("compareShares(...%s)", args), &told)
		want := stat.CompareShares(before, after)
		if len(told) != len(want) {
			t.Fatalf("%d changes, want %d", len(told), len(want))
		}
		for i, c := range want {
			off := math.Abs(told[i].P - c.P)
			edge := math.Abs(c.P-(1-estimate.Level)) < 1e-6
			if off > 1e-6 || math.Abs(told[i].By-c.Change.Estimate) > 1e-12 || told[i].Distinct != c.Distinct && !edge {
				t.Errorf("%v of %v, %v of %v: the page says %+v, want %+v", before[i].Count, of[0], after[i].Count, of[1], told[i], c)
			}
		}
	}
	b.Clean()
}

// TestBrowserEmpty: a profile without samples says so.
func TestBrowserEmpty(t *testing.T) {
	b := open(t, (&Profile{Head: Head{Title: "nothing"}}).WriteHTML, "")
	b.Await("it says so", `document.getElementById("graph").textContent.startsWith("No samples:") && document.getElementById("told").textContent == ""`)
	b.Clean()
}

// TestBrowserBytes: the page of a heap speaks of bytes.
func TestBrowserBytes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := memoryExample().WriteHTML(f, ""); err != nil {
		t.Fatal(err)
	}
	b := browser.OpenTab(t)
	b.Open(file)
	b.Await("the size", fmt.Sprintf(`%s?.title.includes("99.7 %% · 1.20 MB")`, box("[…] string")))
	b.Await("the legend", `document.getElementById("legend").textContent == "tablesstrings"`)
	b.Await("a colour", fmt.Sprintf(`getComputedStyle(%s).backgroundColor != getComputedStyle(%s).backgroundColor`,
		box("[…] string"), box(`package.loaded["app.cache"] table`)))
	b.Clean()
}
