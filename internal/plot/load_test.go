package plot

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/browser"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/lap"
)

// loaded are results of two sides, of which the second meets a stall.
func loaded() *record.LoadResults {
	rng := rand.New(rand.NewPCG(1, 1))
	res := &record.LoadResults{
		Results: &record.Results{Comparisons: []record.Comparison{{
			A: "/a", B: "/b", Metric: "p99", Verdict: record.Slower, Ratio: record.Interval{Estimate: 1.5, Low: 1.2, High: 1.9},
		}}},
		Problems: []record.LoadProblem{{Code: record.LoadErrorsSeen, Side: "/b", Text: "3 timeouts"}},
	}
	for _, name := range []string{"/a", "/b"} {
		whole := lap.NewHistogram()
		side := record.LoadSide{LoadSeen: record.LoadSeen{Name: name, Rate: record.Interval{Estimate: 5000}}, URL: "http://host" + name}
		for i := range 40 {
			p := record.LoadPoint{AtNS: float64(i) * 1e8, NS: 1e8, Responses: 200, Rate: 2000}
			h := lap.NewHistogram()
			for range 200 {
				ns := 1e6 * (1 + rng.ExpFloat64()/4)
				if name == "/b" && i == 20 {
					ns *= 50
				}
				h.Record(time.Duration(ns))
				cell := record.HeatAt(ns)
				for len(p.Heat) <= cell {
					p.Heat = append(p.Heat, 0)
				}
				p.Heat[cell]++
			}
			whole.Merge(h)
			p.P50, p.P99, p.Max = float64(h.Percentile(50)), float64(h.Percentile(99)), float64(h.Max())
			side.Series = append(side.Series, p)
		}
		side.LatencyNS.Count, side.RawNS = whole.Count(), record.LoadLatency{Count: whole.Count(), P50: 1e6, P75: 1.2e6, P90: 1.5e6, P99: 2e6, P999: 5e7}
		side.Histogram, side.RawCounts = whole.Encode(), whole.Encode()
		res.Sides = append(res.Sides, side)
	}
	return res
}

func TestLoadFigure(t *testing.T) {
	f := LoadFigure(loaded(), "b against a\n  1.50× slower")
	var titles []string
	for _, c := range f.Charts {
		titles = append(titles, c.Title)
	}
	if got := fmt.Sprint(titles); got != "[Answers a second p99 over time Percentiles Latencies over time: /a Latencies over time: /b]" {
		t.Error(got)
	}
	stall := false
	for _, p := range f.Charts[4].Series[0].Points {
		stall = stall || p.X == 20e8 && p.Low > 40e6
	}
	if !stall {
		t.Error("the stall at 2 s is in no cell")
	}
	// Nothing was answered: there is still a page.
	empty := &record.LoadResults{Results: &record.Results{}, Sides: []record.LoadSide{{LoadSeen: record.LoadSeen{Name: "/a"}}}}
	if n := len(LoadFigure(empty, "").Charts); n != 3 {
		t.Errorf("%d charts of nothing", n)
	}
}

// TestLoadBrowser reads the page as a reader does, also dark and on a telephone.
func TestLoadBrowser(t *testing.T) {
	f := LoadFigure(loaded(), "b against a\n  1.50× slower")
	file := filepath.Join(t.TempDir(), "load.html")
	if err := f.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	b := browser.OpenTab(t)
	b.Prefer("light")
	b.Open(file)
	b.Await("the charts are there", fmt.Sprintf("plots.length == %d && plots.every(u => u.status == 1)", len(f.Charts)))
	b.Await("the verdict is there", `document.getElementById("report").innerText.endsWith("a\n  1.50× slower")`)
	// A cell of the heat map is inked where the stall was, and nothing above it.
	const inked = `((u, x, y) => { const d = u.ctx.getImageData(Math.round(u.valToPos(x, "x", true)) + 2, Math.round(u.valToPos(y, "y", true)), 1, 1).data;
		return d[3] > 0; })`
	shown := func(x, y float64) string { return fmt.Sprintf("%s(plots[4], %g, %g)", inked, x, y) }
	b.Await("the stall is in the heat map", shown(20e8, 53e6))
	b.Await("nothing is where nothing was", "!"+shown(10e8, 53e6))
	x, y := b.Centre("plots[4].over")
	b.Mouse("mouseMoved", x, y, 0)
	var at [2]float64
	b.Eval(`(u => { const r = u.over.getBoundingClientRect(); return [r.x + u.valToPos(20.5e8, "x"), r.y + u.valToPos(53e6, "y")]; })(plots[4])`, &at)
	b.Mouse("mouseMoved", at[0], at[1], 0)
	b.Await("a cell tells how many", `document.querySelectorAll(".hover")[4].textContent.includes("% of the answers")`)
	b.Resize(1280, 900)
	b.Await("nothing is beside the window", "document.documentElement.scrollWidth <= 1280 && plots.every(u => u.root.getBoundingClientRect().right <= 1280)")
	b.Prefer("dark")
	b.Await("dark, as the reader prefers", `document.documentElement.dataset.theme == "dark"`)
	b.Await("the stall is in the dark heat map", shown(20e8, 53e6))
	b.Resize(390, 800)
	b.Await("it fits a telephone", "document.documentElement.scrollWidth <= 390")
	b.Await("and is drawn there", "plots.every(u => u.width <= 390)")
	b.Await("the stall is in the narrow heat map", shown(20e8, 53e6))
	b.Clean()
}
