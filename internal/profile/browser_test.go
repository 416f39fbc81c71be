package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/moonlap/moonlap/internal/browser"
)

// box is the element of a frame of a name, in JavaScript; undefined where none is drawn.
func box(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#graph div")].find(e => e.title.startsWith(%q))`, name+" · ")
}

// TestBrowser reads the page as a reader does: it draws, zooms, finds, chooses by label, and turns
// around, without an error and without loading anything.
func TestBrowser(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	p := example()
	p.Add([]Frame{cMain, {Function: "other", File: "</script><b>.so", Kind: C}}, map[string]string{"uri": `<i>"&`}, 2)
	p.Merge()
	if err := p.WriteHTML(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b := browser.OpenTab(t)
	b.Open(file)
	choose := func(value string) {
		b.Eval(fmt.Sprintf(`(s => { s.value = %q; s.dispatchEvent(new Event("change")); })(document.getElementById("label-uri"))`, value), nil)
	}
	search := func(text string) {
		b.Eval(fmt.Sprintf(`(s => { s.value = %q; s.dispatchEvent(new Event("input")); })(document.getElementById("search"))`, text), nil)
	}
	click := func(element string) {
		x, y := b.Centre(element)
		b.Click(x, y, 1)
	}
	told := func(name, want string) {
		t.Helper()
		b.Await(name+" has "+want, fmt.Sprintf(`%s?.title.includes(%q)`, box(name), want))
	}

	told("all", "100.0 % · 8 samples, 80.0 ms")
	told("main", "8 samples")
	told("slow@app.lua:12", "3 samples")
	told("fast@app.lua:21_[j]", "2 samples")
	told("ksys_write_[k]", "1 samples")
	told("other", "2 samples")
	b.Await("the title is text", `document.querySelector("h1").textContent == "worker <1> & more" && !document.querySelector("b, i:not([class])")`)
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
	b.Await("found", `document.getElementById("found").textContent == "62.5 % of the samples match" && document.querySelectorAll("#graph div.found").length == 2`)
	search("all")
	b.Await("the root is none", `document.getElementById("found").textContent.startsWith("0.0 %") && !document.querySelector("#graph div.found")`)
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
	b.Await("innermost frames stand on the root", fmt.Sprintf(`parseFloat(%s.style.bottom) > parseFloat(%s.style.bottom)`, box("slow@app.lua:12"), box("string.format")))
	b.Clean()
}

// TestBrowserEmpty: a profile without samples says so.
func TestBrowserEmpty(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := (&Profile{Title: "nothing"}).WriteHTML(f); err != nil {
		t.Fatal(err)
	}
	b := browser.OpenTab(t)
	b.Open(file)
	b.Await("it says so", `document.getElementById("told").textContent == "No samples."`)
	b.Clean()
}
