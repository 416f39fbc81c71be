package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/browser"
)

// TestPagesBrowser looks at the plots of kept records and at a history's site as a reader does: light, dark, on a desk and on a
// telephone.
func TestPagesBrowser(t *testing.T) {
	site := filepath.Join(t.TempDir(), "site")
	if err := writeSite(Sys{Stderr: &strings.Builder{}}, siteHistory(), site, "https://example.org/{commit}"); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(site, "*.html"))
	if err != nil || len(pages) != 3 {
		t.Fatalf("%v: %v", pages, err)
	}
	for _, name := range []string{"bench", "compare", "load"} {
		page := filepath.Join(t.TempDir(), name+".html")
		var said strings.Builder
		sys := Sys{Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said, Getenv: func(string) string { return "" }, Width: func() int { return 100 }, Now: time.Now}
		if code := Main(t.Context(), sys, []string{"plot", "testdata/released/0.0.0/" + name + ".jsonl", "--out", page}); code != ExitOK {
			t.Fatalf("plot %s ends with %d: %s", name, code, said.String())
		}
		pages = append(pages, page)
	}
	b := browser.OpenTab(t)
	for _, page := range pages {
		b.Prefer("light")
		b.Open(page)
		name := strings.TrimSuffix(filepath.Base(page), ".html")
		for theme, paper := range map[string]string{"light": "> 600", "dark": "< 150"} { // red, green and blue together
			b.Prefer(theme)
			b.Await(name+" is "+theme, fmt.Sprintf(`document.documentElement.dataset.theme == %q &&
				getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).slice(0, 3).reduce((a, b) => a + +b, 0) %s`, theme, paper))
			for _, width := range []int{1280, 390} {
				b.Resize(width, 900)
				b.Await(fmt.Sprintf("%s fits %d", name, width), fmt.Sprintf(`innerWidth == %d && document.documentElement.scrollWidth <= innerWidth`, width))
				b.Await("steps are in sight", `[...document.querySelectorAll("th")].every(h => !h.textContent.includes("step") || h.getBoundingClientRect().right <= innerWidth)`)
				b.Await("so do its charts, drawn", `plots.every(u => u.status == 1 && u.root.getBoundingClientRect().right <= innerWidth)`)
				b.Await("the title is first", `document.querySelector("h1").getBoundingClientRect().top < 200`)
				b.Picture(fmt.Sprintf("page-%s-%s-%d", name, theme, width))
			}
		}
	}
	b.Clean()
}
