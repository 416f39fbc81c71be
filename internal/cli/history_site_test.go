package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

// siteHistory has a case with a step in two settings, and one without a figure.
func siteHistory() *record.History {
	point := func(day, commit string, ns float64) record.Point {
		p := record.Point{Started: "2026-11-" + day + "T02:00:00Z", Commit: commit, SavedAs: "main"}
		if ns > 0 {
			p.NSPerCall = &record.Interval{Estimate: ns, Low: ns - 0.1, High: ns + 0.1}
		}
		return p
	}
	return &record.History{Series: []record.Series{
		{Case: "<add>/x", File: "app.lua", Points: []record.Point{point("01", "aaaaaaaaaa", 10), point("02", "bbbbbbbbbb", 20)},
			Steps: []record.Step{{At: 1, Before: 10, After: 20, Ratio: record.Interval{Estimate: 2, Low: 1.9, High: 2.1}}}},
		{Case: "<add>/x", File: "app.lua", Setting: []record.Fact{{What: "JIT", Value: "false"}}, Points: []record.Point{point("03", "", 90)}},
		{Case: "empty", Points: []record.Point{point("01", "", 0)}},
	}}
}

// TestSite: commits lead to where the user says, steps stand in the index, and a case without a figure has a page all the same.
func TestSite(t *testing.T) {
	h := siteHistory()
	folder := filepath.Join(t.TempDir(), "new", "site")
	var stderr bytes.Buffer
	if err := writeSite(Sys{Stderr: &stderr}, h, folder, "https://example.org/{commit}"); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(pages) != 3 {
		t.Fatalf("%v: %v", pages, err)
	}
	// A step has one form, at the chart as in the tables.
	for i, wants := range [][]string{
		{`"link":"https://example.org/bbbbbbbbbb"`, `2.00× slower (1.90–2.10) from bbbbbbbb`, `"note":"JIT false"`},
		{`no run has a figure`, `"text":"no figure"`},
		{`"title":"Latest steps"`, `\u003cadd\u003e/x · app.lua","link":"add--x-`, `2.00× slower`},
	} {
		text, err := os.ReadFile(pages[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s has no %s", filepath.Base(pages[i]), want)
			}
		}
		if strings.Contains(string(text), "2.000×") {
			t.Errorf("%s has another form of a step", filepath.Base(pages[i]))
		}
	}
	if err := writeSite(Sys{}, &record.History{}, folder, ""); err == nil {
		t.Error("a site of nothing is written")
	}
}
