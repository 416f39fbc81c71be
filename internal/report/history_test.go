package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// history has steps both ways, a run without a figure, one interval far wider than the
// others, another machine, and names that would spoil a terminal or a table.
func history() *record.History {
	point := func(day int, commit string, ns, arm float64) record.Point {
		p := record.Point{Started: fmt.Sprintf("2026-11-%02dT02:00:00.000Z", day), Commit: strings.Repeat(commit, 8), SavedAs: "main", Processes: 10}
		if ns > 0 {
			p.NSPerCall = &record.Interval{Estimate: ns, Low: ns - arm, High: ns + arm}
		}
		return p
	}
	points := []record.Point{
		point(1, "a1b2c", 65.56, 0.13), point(2, "b2c3d", 65.57, 0.08), point(3, "c3d4e", 65.4, 12), point(4, "d4e5f", 0, 0),
		point(5, "e5f6a", 79.32, 0.07), point(6, "", 79.3, 0.4), point(7, "f6a7b", 79.31, 0.06),
		point(8, "a7b8c", 70.1, 0.2), point(9, "b8c9d", 70.2, 0.2), point(10, "c9d0e", 70.1, 0.2),
	}
	points[6].Dirty, points[7].SavedAs = true, "a name that is\x1b[31m far too long for its column"
	setting := []record.Fact{
		{What: "cpu", Value: "AMD EPYC 7763 64-Core Processor"}, {What: "cores", Value: "2"}, {What: "kernel", Value: "linux 6.1.0-28-amd64"},
		{What: "runtime", Value: "luajit"}, {What: "jit.opt", Value: "SSE3 SSE4.1 BMI2 fold cse dce fwd dse narrow loop abc sink fuse"},
	}
	return &record.History{
		Schema: record.Schema, Kind: "history",
		Names: []record.SavedName{
			{Name: "main", Runs: 9, Last: "2026-11-10T02:00:00.000Z", Files: []string{"app.lua", "other.lua"}},
			{Name: "work | spoilt", Runs: 1, Last: "2026-11-08T02:00:00.000Z", Files: []string{}},
		},
		Series: []record.Series{
			{Case: "concat/n=10", File: "app.lua", Kind: "bench", Setting: setting, Points: points, Steps: []record.Step{
				{At: 4, Before: 65.56, After: 79.31, Ratio: record.Interval{Estimate: 1.2098, Low: 1.2011, High: 1.2187}},
				{At: 7, Before: 79.31, After: 70.13, Ratio: record.Interval{Estimate: 0.8843, Low: 0.8761, High: 0.8926}},
			}},
			{Case: "concat/n=10", File: "app.lua", Kind: "bench", Points: points[:1], Steps: []record.Step{},
				Setting: append([]record.Fact{{What: "cpu", Value: "Z80"}, {What: "governor", Value: "powersave"}}, setting[1:]...)},
			{Case: "a | b", Kind: "bench", Setting: setting, Points: points[3:4], Steps: []record.Step{}},
		},
	}
}

var histories = map[string]func(b *bytes.Buffer, h *record.History, o ui.Options) error{
	"history": func(b *bytes.Buffer, h *record.History, o ui.Options) error { return History(b, h, o) },
	"history_of": func(b *bytes.Buffer, h *record.History, o ui.Options) error {
		h.Series = h.Series[:2] // of one case
		return HistoryOf(b, h, o)
	},
}

func TestHistory(t *testing.T) {
	for name, write := range histories {
		for _, opt := range []ui.Options{{}, {ASCII: true}} {
			var b bytes.Buffer
			if err := write(&b, history(), opt); err != nil {
				t.Fatal(err)
			}
			file := name + ".80.txt"
			if opt.ASCII {
				file = name + ".ascii.txt"
			}
			golden(t, file, b.Bytes())
		}
		for _, width := range []int{60, 80, 120, 200} {
			var b bytes.Buffer
			if err := write(&b, history(), ui.Options{Width: width, Color: true}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				line = strings.TrimSuffix(line, "\n")
				if w := lipgloss.Width(line); w > width {
					t.Errorf("%s at %d: %d columns: %q", name, width, w, line)
				}
			}
		}
	}
	for name, write := range histories {
		var b bytes.Buffer
		if err := write(&b, history(), ui.Options{Markdown: true}); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".md", b.Bytes())
	}
	if err := History(fullDisk{}, history(), ui.Options{}); err == nil {
		t.Error("a full disk is no error")
	}
}
