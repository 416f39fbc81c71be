package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// Markdown writes the report as GitHub renders it: the table of the cases, modes,
// comparisons, faults and notes, without histograms. Its only error is that of w.
func Markdown(w io.Writer, res *record.Results) error {
	p := newPage(ui.Options{})
	m := &markdown{page: p}
	m.cases(res.Cases)
	m.scaling(res.Cases)
	m.comparisons(res.Comparisons)
	m.faults(res.Cases)
	m.notes(res)
	if !res.Complete {
		p.Line("**Partial result.**")
		p.Blank()
	}
	m.head(res)
	return p.Write(w)
}

type markdown struct{ *page }

// row is one line of a table.
func (m *markdown) row(cells ...string) { m.Line("| " + strings.Join(cells, " | ") + " |") }

func (m *markdown) cases(cases []record.CaseResult) {
	if len(cases) == 0 {
		return
	}
	headers, rule, columns := []string{"case", "time per call", "p50", "p99", "memory", "JIT"}, "| --- | ---: | ---: | ---: | ---: |", 6
	if !anyLua(cases) {
		columns--
	} else {
		rule += " --- |"
	}
	m.row(headers[:columns]...)
	m.Line(rule)
	for _, c := range cases {
		for i, row := range m.caseRow(c, jitShort) {
			row[0] = escape(row[0])
			if i > 0 { // a further mode
				row[0] = "*" + strings.TrimSpace(row[0]) + "*"
			}
			row[5] = escape(row[5])
			m.row(row[:columns]...)
		}
		if c.Laps != nil {
			m.lapRows(c)
		}
	}
	m.Blank()
}

// lapRows give the percentiles of single calls below those of the batches.
func (m *markdown) lapRows(c record.CaseResult) {
	for _, r := range []struct {
		name string
		p    *record.Percentiles
	}{{"single calls", c.Laps.Calls}, {"service", c.Laps.Service}, {"response", c.Laps.Response}} {
		if r.p != nil {
			m.row("*"+r.name+"*", "", m.Time(r.p.P50), m.Time(r.p.P99), "", "p99.9 "+m.Time(r.p.P999)+", max "+m.Time(r.p.Max))
		}
	}
}

func (m *markdown) scaling(cases []record.CaseResult) {
	for _, group := range byWorkers(cases) {
		m.Line(escape(ui.Clean(group[0].Case.Benchmark)) + " with several workers:")
		m.Blank()
		m.row(scalingHeaders...)
		m.Line("| ---: | ---: | ---: | ---: |")
		for _, row := range m.scalingRows(group) {
			m.row(row...)
		}
		m.Blank()
	}
}

func (m *markdown) comparisons(list []record.Comparison) {
	for _, c := range list {
		m.Line("- " + escape(ui.Clean(c.B)) + " against " + escape(ui.Clean(c.A)) + ": **" + m.verdict(c) + "**")
		for _, d := range c.Differences {
			m.Line("  - " + escape(m.difference(d)))
		}
	}
	if len(list) > 0 {
		m.Blank()
	}
}

func (m *markdown) notes(res *record.Results) {
	notes := notesOf(res)
	for _, n := range notes {
		texts := n.lines(len(res.Cases))
		m.Line("- " + escape(strings.TrimSpace(strings.Join(append(texts, n.advice), " "))))
	}
	if len(notes) > 0 {
		m.Blank()
	}
}

func (m *markdown) faults(cases []record.CaseResult) {
	faults := faultsOf(cases)
	for _, t := range faults {
		m.Line("- **fault** " + escape(t.text()+" "+t.remedy()))
	}
	if len(faults) > 0 {
		m.Blank()
	}
}

// head comes last: in a pull request the figures are what is read first.
func (m *markdown) head(res *record.Results) {
	m.Line("<details><summary>What was measured</summary>")
	m.Blank()
	for _, f := range m.headFacts(res) {
		m.Line("- " + f.label + ": " + escape(f.text))
	}
	m.Line(fmt.Sprintf("- seed: %d", res.Seed))
	m.Blank()
	m.Line("</details>")
}

// escape keeps a text from being read as Markdown or HTML, also inside a table.
var escape = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;", ">", "&gt;", "[", `\[`, "]", `\]`, "&", "&amp;",
).Replace
