package report

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// nameWidth is how much of a case's name the table shows before it says less of what
// the JIT did.
const nameWidth = 22

// cases draws the table: one line a case, and one for each further mode. Where the
// terminal is narrow, first the JIT's column becomes a word and then goes, as each
// case's own part has it in full; then names are shortened. named reports that none was.
func (p *page) cases(cases []record.CaseResult) (named bool) {
	headers := []string{"case", "time per call", "p50", "p99", "memory", "JIT"}
	var rows [][]string
	var room int
	columns := []func(record.JITSummary) string{jitShort, jitWord, nil}
	if !anyLua(cases) {
		columns = columns[2:]
	}
	for _, jit := range columns {
		if jit == nil {
			headers = headers[:5]
			jit = jitWord
		}
		rows = nil
		for _, c := range cases {
			for _, row := range p.caseRow(c, jit) {
				rows = append(rows, row[:len(headers)])
			}
		}
		room = p.Options.Width - ui.TableWidth(headers[1:], part(rows, 1))
		if room >= min(nameWidth, ui.ColumnWidth(headers, rows, 0)) {
			break
		}
	}
	named = true
	names := ui.Column(rows, 0)
	for i, short := range p.ShortenAll(names, room-2) {
		rows[i][0] = short
		named = named && short == names[i]
	}
	p.Table(headers, rows, 5)
	return named
}

// anyLua reports whether any case ran in Lua, and may have a JIT.
func anyLua(cases []record.CaseResult) bool {
	return len(cases) == 0 || slices.ContainsFunc(cases, func(c record.CaseResult) bool { return !goCode(c) })
}

func goCode(c record.CaseResult) bool { return c.Case.Runtime == "go" }

// caseRow is the line of a case and those of its further modes; jit says what the JIT
// did.
func (p *page) caseRow(c record.CaseResult, jit func(record.JITSummary) string) [][]string {
	memory := p.None
	if c.BytesPerCall != nil {
		memory = p.Size(*c.BytesPerCall)
	}
	did := ""
	if c.Processes > 0 {
		did = jit(c.JIT)
	}
	d := c.NSPerCall
	if d == nil {
		p50, p99 := p.None, p.None
		if q := singleCalls(c.Laps); q != nil {
			p50, p99 = p.Time(q.P50), p.Time(q.P99)
		}
		return [][]string{{ui.Clean(c.Name), noFigure(c), p50, p99, memory, did}}
	}
	rows := [][]string{{ui.Clean(c.Name), p.Interval(d.Interval), p.Time(d.P50), p.Time(d.P99), memory, did}}
	if len(c.Modes) > 1 {
		main := mainMode(c.Modes)
		for i, m := range c.Modes {
			if i != main {
				rows = append(rows, []string{"  " + ui.Percent(m.Share) + " of processes", p.Time(m.NS), "", "", "", ""})
			}
		}
	}
	return rows
}

// failed is said of a case of which no process finished.
const failed = "failed"

// noFigure says why a case has none, in a word or two.
func noFigure(c record.CaseResult) string {
	switch {
	case c.Laps != nil:
		return "single calls"
	case c.Processes == 0 && (c.Failed > 0 || len(c.Faults) > 0):
		return failed
	case c.Steady == record.SteadyNone:
		return "never steady"
	}
	return "no figure"
}

// singleCalls are the percentiles that a caller of a yielding target sees.
func singleCalls(l *record.LapsResult) *record.Percentiles {
	if l == nil {
		return nil
	}
	return cmp.Or(l.Response, l.Service, l.Calls)
}

// mainMode is the mode that most processes were in, which the estimate is of.
func mainMode(modes []record.Mode) int {
	best := 0
	for i, m := range modes {
		if m.Share > modes[best].Share {
			best = i
		}
	}
	return best
}

// jitShort is what matters most about the JIT, for the table.
func jitShort(j record.JITSummary) string {
	why := ""
	switch {
	case len(j.Aborts) > 0:
		why = abortText(j.Aborts[0], filepath.Base)
	case len(j.Blacklisted) > 0:
		why = "blacklisted " + place(j.Blacklisted[0].Source, filepath.Base)
	}
	if why != "" {
		why = ": " + why
	}
	switch j.Compiled {
	case "interpreted":
		return "interpreted" + why
	case "partly":
		return "partly compiled" + why
	}
	return traces(j)
}

// jitWord is the same in a word.
func jitWord(j record.JITSummary) string { return j.Compiled }

func traces(j record.JITSummary) string {
	switch {
	case j.RootTraces == 0 && j.SideTraces == 0:
		return ""
	case j.SideTraces == 0:
		return middle(j.RootTraces) + " root"
	}
	return middle(j.RootTraces) + " root, " + middle(j.SideTraces) + " side"
}

// middle shows a median of counts; where it lies between two, both: "3 to 4".
func middle(x float64) string {
	if low := math.Floor(x); low != x {
		return ui.Count(int64(low)) + " to " + ui.Count(int64(low)+1)
	}
	return ui.Count(int64(x))
}

// abortText names what could not be compiled: "NYI FNEW app.lua:12".
func abortText(a record.Abort, name func(string) string) string {
	s := ui.Clean(a.Reason)
	if a.NYI != "" {
		s = "NYI " + ui.Clean(a.NYI)
	}
	if at := place(a.Source, name); at != "" {
		s += " " + at
	}
	return s
}

// place is "file:line", the file's name as name shows it.
func place(s record.Source, name func(string) string) string {
	if s.File == "" {
		return ""
	}
	if s.Line == 0 {
		return ui.Clean(name(s.File))
	}
	return ui.Clean(name(s.File)) + ":" + strconv.Itoa(s.Line)
}
