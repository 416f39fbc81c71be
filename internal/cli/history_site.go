package cli

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/plot"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/report"
	"github.com/moonlap/moonlap/lap/lapplot"
)

// sitePage is the page of one case of one file, with a series for each setting.
type sitePage struct {
	name   string
	series []record.Series
}

// writeSite writes the history as pages that load nothing: an index, and a page a case.
func writeSite(sys Sys, h *record.History, folder, commitURL string) error {
	if len(h.Series) == 0 {
		return errors.New("the history holds no case, so there is no page to write")
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	pages := sitePages(h)
	for _, p := range pages {
		f, err := p.figure(commitURL)
		if err != nil {
			return err
		}
		if err := f.WriteFile(filepath.Join(folder, p.name)); err != nil {
			return err
		}
	}
	if err := siteIndex(pages).WriteFile(filepath.Join(folder, "index.html")); err != nil {
		return err
	}
	note(sys, fmt.Sprintf("wrote %s and an index: %s", counted(len(pages), "page"), filepath.Join(folder, "index.html")))
	return nil
}

// sitePages are in the order of the history.
func sitePages(h *record.History) []sitePage {
	var pages []sitePage
	for _, s := range h.Series {
		if n := len(pages); n > 0 && pages[n-1].series[0].Case == s.Case && pages[n-1].series[0].File == s.File {
			pages[n-1].series = append(pages[n-1].series, s)
			continue
		}
		pages = append(pages, sitePage{name: pageName(s), series: []record.Series{s}})
	}
	return pages
}

// pageName is the name of a case's page: the same each time, and another one for each case.
func pageName(s record.Series) string {
	const longest = 60
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, s.Case)
	sum := sha256.Sum256([]byte(s.Case + "\x00" + s.File))
	return fmt.Sprintf("%s-%x.html", strings.Trim(plain[:min(longest, len(plain))], "-."), sum[:4])
}

func (p sitePage) title() string {
	return strings.Trim(p.series[0].Case+" · "+p.series[0].File, " ·")
}

// figure draws the series, with a table of the runs of each.
func (p sitePage) figure(commitURL string) (*lapplot.Figure, error) {
	f, err := plot.History(&record.History{Series: p.series}, p.title())
	if errors.Is(err, plot.ErrNoFigure) {
		f, err = &lapplot.Figure{Title: p.title(), Notes: []string{err.Error()}}, nil
	}
	if err != nil {
		return nil, err
	}
	f.Up = lapplot.Cell{Text: "All cases", Link: "index.html"}
	for i, s := range p.series {
		headers, rows := report.HistoryRuns(s)
		t := lapplot.Table{Title: "Runs", Note: report.HistoryFacts(s, p.series[0], i > 0), Headers: headers, Right: []int{3}}
		for j, row := range rows {
			cells := cellsOf(row)
			if commit := s.Points[len(rows)-1-j].Commit; commitURL != "" && commit != "" {
				cells[1].Link = strings.ReplaceAll(commitURL, "{commit}", commit)
			}
			t.Rows = append(t.Rows, cells)
		}
		f.Tables = append(f.Tables, t)
	}
	return f, nil
}

func cellsOf(row []string) []lapplot.Cell {
	cells := make([]lapplot.Cell, len(row))
	for i, text := range row {
		cells[i].Text = text
	}
	return cells
}

// siteIndex has a line a case, and before that the latest steps of all.
func siteIndex(pages []sitePage) *lapplot.Figure {
	const mostSteps = 20
	type change struct {
		started string
		cells   []lapplot.Cell
	}
	var changes []change
	cases := lapplot.Table{Title: "Cases", Right: []int{2, 5}}
	for _, p := range pages {
		for _, s := range p.series {
			var row []string
			cases.Headers, row = report.HistoryLine(s)
			cells := cellsOf(row)
			cells[0].Link = p.name
			cases.Rows = append(cases.Rows, cells)
			_, runs := report.HistoryRuns(s)
			for _, st := range s.Steps {
				run := runs[len(runs)-1-st.At]
				changes = append(changes, change{s.Points[st.At].Started, []lapplot.Cell{{Text: run[0]}, {Text: p.title(), Link: p.name}, {Text: run[4]}}})
			}
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(b.started, a.started) })
	f := &lapplot.Figure{Title: "moonlap history"}
	if len(changes) == 0 {
		f.Notes = append(f.Notes, "No case has changed by more than the intervals and the noise from run to run explain.")
	} else {
		t := lapplot.Table{Title: "Latest steps", Headers: []string{"time (UTC)", "case", "step"}}
		for _, c := range changes[:min(mostSteps, len(changes))] {
			t.Rows = append(t.Rows, c.cells)
		}
		f.Tables = append(f.Tables, t)
	}
	f.Tables = append(f.Tables, cases)
	return f
}
