package plot

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/browser"
	"github.com/moonlap/moonlap/internal/record"
)

func onHost(name, verdict string, low, ratio, high float64) record.OnHost {
	return record.OnHost{Host: name, Comparison: record.Comparison{Verdict: verdict, Ratio: record.Interval{Estimate: ratio, Low: low, High: high}}}
}

// TestForestBrowser reads the page of a comparison on three hosts as a reader does: light, dark, on a desk and on a telephone.
func TestForestBrowser(t *testing.T) {
	res := &record.HostsResult{Comparisons: []record.HostComparison{{
		A: "route@old.lua", B: "route@new.lua", Here: record.Mixed, Verdict: record.Undecided,
		Ratio: record.Interval{Estimate: 0.98, Low: 0.8, High: 1.2}, Next: &record.Interval{Estimate: 0.98, Low: 0.6, High: 1.6},
		Hosts: []record.OnHost{
			onHost("measure-1", record.Faster, 0.90, 0.92, 0.94), onHost("measure-2", record.Slower, 1.07, 1.1, 1.13), onHost("measure-3", record.Faster, 0.91, 0.93, 0.95),
		},
	}}}
	source := Source{Name: "a", Record: madeUp(3, map[string]float64{"work": 100})}
	figure, err := Figure([]Source{source}, Options{Hosts: res, Kinds: []string{Forest}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "hosts.html")
	if err := figure.WriteFile(file); err != nil {
		t.Fatal(err)
	}
	b := browser.OpenTab(t)
	b.Prefer("light")
	b.Open(file)
	b.Await("the chart is there", `document.querySelectorAll(".uplot").length == 1`)
	b.Await("it names both verdicts", fmt.Sprintf(`document.body.innerText.includes(%q)`, "faster on measure-1, measure-3; slower on measure-2; on hosts like these: undecided"))
	for _, theme := range []string{"light", "dark"} {
		b.Prefer(theme)
		for _, width := range []int{1280, 390} {
			b.Resize(width, 900)
			b.Await(fmt.Sprintf("%s fits %d", theme, width), fmt.Sprintf(`innerWidth == %d && document.documentElement.scrollWidth <= innerWidth`, width))
			b.Picture(fmt.Sprintf("forest-%s-%d", theme, width))
		}
	}
	b.Clean()
	var svg strings.Builder
	if err := figure.WriteSVG(&svg); err != nil || !strings.Contains(svg.String(), "measure-2") {
		t.Errorf("the picture does not name the hosts: %v", err)
	}
}
