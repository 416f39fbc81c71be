package report

import (
	"io"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// AbovePlots draws what stands above the plots of a record: what was run and when, the verdicts, the table of the cases, and what was
// measured with; name is that of the record among others. Its only error is that of w.
func AbovePlots(w io.Writer, res *record.Results, run record.Run, name string, opt ui.Options) error {
	p := newPage(opt)
	p.Line("moonlap " + p.Join(ui.Clean(run.Kind), when(run), ui.Clean(name)))
	p.comparisons("comparisons", res.Comparisons)
	if len(res.Cases) > 0 {
		p.Blank()
		p.cases(res.Cases)
	}
	p.measuredWith(res)
	p.footer(res)
	return p.Write(w)
}

// AboveLoad is AbovePlots of a run of load. Its only error is that of w.
func AboveLoad(w io.Writer, res *record.LoadResults, run record.Run, opt ui.Options) error {
	p := newPage(opt)
	p.Line("moonlap " + p.Join(ui.Clean(run.Kind), when(run)))
	p.loadVerdicts(res)
	p.Blank()
	headers, rows := p.loadTable(res)
	p.Table(headers, rows)
	p.Blank()
	p.clients(res)
	p.loadMeasuredWith(res)
	return p.Write(w)
}

// when a run began, in words.
func when(run record.Run) string {
	if run.Started == "" {
		return ""
	}
	return record.Minute(run.Started) + " UTC"
}
