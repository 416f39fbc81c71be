package cli

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/browser"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/sequential"
	"github.com/moonlap/moonlap/lap"
)

// profiled are results of two sides with a profile each: in the second one, a function takes more.
func profiled(t *testing.T) *record.LoadResults {
	t.Helper()
	res := &record.LoadResults{Results: &record.Results{
		Complete: true, Comparisons: []record.Comparison{{
			A: "/ctx", B: "/var", Metric: sequential.MetricCPU, Verdict: record.Slower, Pairs: 20,
			Ratio: record.Interval{Estimate: 1.5, Low: 1.4, High: 1.6},
		}},
	}}
	for i, name := range []string{"/ctx", "/var"} {
		whole := lap.NewHistogram()
		side := record.LoadSide{LoadSeen: record.LoadSeen{Name: name}, URL: "http://host" + name}
		for at := range 20 {
			h := lap.NewHistogram()
			for k := range 100 {
				h.Record(time.Duration(1e6 + 1e4*k))
			}
			whole.Merge(h)
			side.Series = append(side.Series, record.LoadPoint{
				AtNS: float64(at) * 1e8, NS: 1e8, Responses: 100, Rate: 1000, P50: 1.5e6, P99: 2e6, Max: 2e6, Histogram: h.Encode(),
			})
		}
		side.Histogram, side.RawCounts, side.LatencyNS.Count = whole.Encode(), whole.Encode(), whole.Count()
		res.Sides = append(res.Sides, side)

		p := &profile.Profile{Head: profile.Head{Title: name, Unit: profile.Samples, Start: time.Unix(1e9, 0), Duration: time.Second, Period: 5 * time.Millisecond}}
		root := profile.Frame{Function: "main", File: "nginx", Kind: profile.C}
		p.Add([]profile.Frame{root, {Function: "get", File: "app.lua", Line: 3, Kind: profile.Lua}}, nil, 100)
		p.Add([]profile.Frame{root, {Function: "variable", File: "app.lua", Line: 9, Kind: profile.Lua}}, nil, int64(50+400*i))
		p.Merge()
		var b bytes.Buffer
		if err := p.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		res.Cases = append(res.Cases, record.CaseResult{Name: name, Profile: &record.Profile{Case: i, Profile: bytes.TrimSpace(b.Bytes())}})
	}
	return res
}

// TestLoadPageBrowser reads the page of a comparison with flame graphs as a reader does: light, dark, on a desk and on a telephone.
func TestLoadPageBrowser(t *testing.T) {
	figure, err := loadFigure(profiled(t), record.Run{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ab.html")
	if err := figure.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	b := browser.OpenTab(t)
	b.Prefer("light")
	b.Open(file)
	frames := `[...document.querySelectorAll("iframe")].map(f => f.contentDocument)`
	box := func(page int, name string) string {
		return fmt.Sprintf(`[...%s[%d].querySelectorAll("#graph div")].find(e => e.title.startsWith(%q))`, frames, page, name)
	}
	b.Await("a flame graph of each side, and what differs", frames+`.length == 3 && `+box(0, "variable@app.lua:9")+" && "+
		box(1, "variable@app.lua:9")+" && "+box(2, "variable@app.lua"))
	b.Await("each has the samples of its side", box(0, "variable@app.lua:9")+`.title.includes("33.3 %") && `+
		box(1, "variable@app.lua:9")+`.title.includes("81.8 %")`)
	b.Await("the verdict is above", `document.getElementById("report").innerText.includes("/var against /ctx")`)
	for theme, paper := range map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 28)"} {
		b.Prefer(theme)
		b.Await("the pages within are "+theme+", too", fmt.Sprintf(`%s.every(d => d.documentElement.dataset.theme == %q)`, frames, theme))
		b.Await("down to their paper", fmt.Sprintf(`%s.every(d => getComputedStyle(d.body).backgroundColor == %q)`, frames, paper))
		for _, width := range []int{1280, 390} {
			b.Resize(width, 900)
			b.Await(fmt.Sprintf("%s fits %d", theme, width), fmt.Sprintf(`innerWidth == %d && document.documentElement.scrollWidth <= innerWidth`, width))
			b.Await("so do the pages within", frames+`.every(d => d.documentElement.scrollWidth <= d.defaultView.innerWidth)`)
			b.Await("whose frames are drawn over that width", fmt.Sprintf(`[0, 1, 2].every(i => {
				const all = [...%[1]s[i].querySelectorAll("#graph div")].find(e => e.title.startsWith("all · "));
				return all && all.getBoundingClientRect().width > 0.8 * %[1]s[i].defaultView.innerWidth;
			})`, frames))
			b.Centre(`document.querySelectorAll("iframe")[2]`)
			b.Picture(fmt.Sprintf("load-%s-%d", theme, width))
		}
	}
	b.Clean()
}
