package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/moonlap/moonlap/internal/record"
)

// History lists what the history store knows: the names that runs are kept under, and of
// each series its newest figure and its last step. Its only error is that of w.
func History(w io.Writer, h *record.History, opt Options) error {
	p := newPage(opt)
	p.line(p.strong.Render("moonlap history"))
	p.section("names")
	var rows [][]string
	for _, n := range h.Names {
		rows = append(rows, []string{clean(n.Name), count(n.Runs), clean(record.Minute(n.Last)), clean(strings.Join(n.Files, ", "))})
	}
	p.squeezed([]string{"name", "runs", "newest (UTC)", "files"}, rows, []int{3, 0}, 3)
	p.section("cases")
	p.seriesList(h.Series)
	if other := manySettings(h.Series); other != "" {
		p.blank()
		p.para("", fmt.Sprintf("Cases stand more than once where they were measured under different conditions; 'moonlap history %s' tells which.", other), p.faint)
	}
	return p.writeTo(w)
}

// seriesList has a line a series. Where the terminal is narrow, first the interval of a
// step goes, then the run that it begins with, as each case's own report has them; then
// names are shortened.
func (p *page) seriesList(list []record.Series) {
	headers := []string{"case", "file", "runs", "newest", "last step"}
	var rows [][]string
	for _, step := range []func(record.Series, record.Step) string{p.step, p.stepShort, p.stepShortest} {
		rows = nil
		width := 0
		for _, s := range list {
			last := ""
			if n := len(s.Steps); n > 0 {
				last = step(s, s.Steps[n-1])
			}
			rows = append(rows, []string{clean(s.Case), clean(s.File), count(len(s.Points)), p.figure(s.Points[len(s.Points)-1]), last})
		}
		for c := range headers {
			width += columnWidth(headers, rows, c)
		}
		if width <= p.opt.Width {
			break
		}
	}
	p.squeezed(headers, rows, []int{1, 0}, 1, 4)
}

// squeezed draws a table, the cells of these columns shortened one after another where it
// would be too wide.
func (p *page) squeezed(headers []string, rows [][]string, columns []int, left ...int) {
	const least = 8
	for _, col := range columns {
		excess := -p.opt.Width
		for c := range headers {
			excess += columnWidth(headers, rows, c)
		}
		if excess <= 0 {
			break
		}
		room := max(least, columnWidth(headers, rows, col)-2-excess)
		for _, row := range rows {
			row[col] = p.shorten(row[col], room)
		}
	}
	p.table(headers, rows, left...)
}

// manySettings is a case that has several series.
func manySettings(list []record.Series) string {
	for i, s := range list {
		if i > 0 && s.Case == list[i-1].Case && s.File == list[i-1].File {
			return clean(s.Case)
		}
	}
	return ""
}

// HistoryOf draws the series of one case: a line a run, with its interval on a scale that
// all runs share, and the steps between them. Its only error is that of w.
func HistoryOf(w io.Writer, h *record.History, opt Options) error {
	p := newPage(opt)
	for i, s := range h.Series {
		if i > 0 {
			p.blank()
		}
		p.line(p.strong.Render("moonlap history") + p.faint.Render(p.dot+p.join(clean(s.Case), clean(s.File))))
		if i == 0 {
			p.fact("measured", p.facts(s.Setting))
		} else {
			p.fact("here", p.facts(s.Apart(h.Series[0].Setting)))
		}
		p.blank()
		p.series(s)
	}
	return p.writeTo(w)
}

// facts are a setting in one paragraph.
func (p *page) facts(setting []record.Fact) string {
	var parts []string
	for _, f := range setting {
		value := clean(f.Value)
		if f.What == "jit.opt" {
			value = jitOpt(strings.Fields(value))
		}
		parts = append(parts, clean(f.What)+" "+value)
	}
	return p.join(parts...)
}

// series draws the points below each other.
func (p *page) series(s record.Series) {
	rows := make([][]string, len(s.Points))
	widths := make([]int, 4)
	for i, point := range s.Points {
		rows[i] = []string{clean(point.Minute()), clean(point.ShortCommit()), p.shorten(clean(point.SavedAs), 16), p.figure(point)}
		for c, cell := range rows[i] {
			widths[c] = max(widths[c], lipgloss.Width(cell))
		}
	}
	room := p.opt.Width - 10 - widths[0] - widths[1] - widths[2] - widths[3]
	if room < leastColumns { // names go first
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 2, 3)
		}
		room += widths[2] + 2
		widths = slices.Delete(widths, 2, 3)
	}
	scale := newScale(s.Points, room)
	for i, row := range rows {
		for _, st := range s.Steps {
			if st.At == i {
				style := p.bad
				if st.Ratio.Estimate < 1 {
					style = p.good
				}
				p.line("  " + style.Render(p.arrow+" "+p.step(s, st)))
			}
		}
		line := "  "
		for c, cell := range row {
			pad := strings.Repeat(" ", widths[c]-lipgloss.Width(cell))
			if c == len(row)-1 {
				line += pad + cell + "  "
			} else {
				line += cell + pad + "  "
			}
		}
		p.line(line + p.bar.Render(p.mark(scale, s.Points[i])))
	}
}

// figure is what a run found.
func (p *page) figure(point record.Point) string {
	if point.NSPerCall == nil {
		return "no figure"
	}
	return p.interval(*point.NSPerCall)
}

// step says what changed, and from which run on: "1.12× slower (1.10–1.14) from 3f2a1b9c".
func (p *page) step(s record.Series, st record.Step) string {
	c := record.Comparison{Verdict: record.Slower, Ratio: st.Ratio}
	if st.Ratio.Estimate < 1 {
		c.Verdict = record.Faster
	}
	return p.verdict(c) + p.from(s, st)
}

// stepShort is a step without its interval.
func (p *page) stepShort(s record.Series, st record.Step) string {
	return p.stepShortest(s, st) + p.from(s, st)
}

// stepShortest is a step without its run, too.
func (p *page) stepShortest(_ record.Series, st record.Step) string {
	if r := st.Ratio; r.Estimate < 1 {
		return p.ratio(record.Interval{Estimate: 1 / r.Estimate, Low: 1 / r.High, High: 1 / r.Low}) + " faster"
	}
	return p.ratio(st.Ratio) + " slower"
}

func (p *page) from(s record.Series, st record.Step) string {
	return " from " + clean(s.Points[st.At].Name())
}

// leastColumns is how narrow a scale can be.
const leastColumns = 10

// A plotScale maps times to columns.
type plotScale struct {
	low, high float64
	columns   int
}

// leastRoom is a share of the figure, so that noise too small to matter looks it.
const leastRoom = 0.01

// newScale holds every estimate of the points, and twice the typical arm around them. An
// interval that is far wider than the others reaches beyond its ends.
func newScale(points []record.Point, columns int) plotScale {
	var arms []float64
	s := plotScale{low: math.Inf(1), high: math.Inf(-1), columns: max(columns, leastColumns)}
	for _, p := range points {
		if p.NSPerCall != nil {
			arms = append(arms, (p.NSPerCall.High-p.NSPerCall.Low)/2)
			s.low, s.high = math.Min(s.low, p.NSPerCall.Estimate), math.Max(s.high, p.NSPerCall.Estimate)
		}
	}
	if len(arms) > 0 {
		slices.Sort(arms)
		room := max(2*arms[len(arms)/2], leastRoom*math.Abs(s.high))
		s.low, s.high = s.low-room, s.high+room
	}
	if !(s.high > s.low) {
		s.low, s.high = s.low-1, s.high+1
	}
	return s
}

func (s plotScale) column(ns float64) int {
	at := math.Round((ns - s.low) / (s.high - s.low) * float64(s.columns-1))
	return int(math.Min(math.Max(at, 0), float64(s.columns-1)))
}

// mark draws a point's interval: "  ├──●──┤".
func (p *page) mark(s plotScale, point record.Point) string {
	iv := point.NSPerCall
	if iv == nil {
		return ""
	}
	cells := []string{}
	for range s.columns {
		cells = append(cells, " ")
	}
	low, at, high := s.column(iv.Low), s.column(iv.Estimate), s.column(iv.High)
	for c := low; c <= high; c++ {
		cells[c] = p.span
	}
	if low < at && iv.Low >= s.low {
		cells[low] = p.spanLeft
	}
	if high > at && iv.High <= s.high {
		cells[high] = p.spanRight
	}
	cells[at] = p.point
	return strings.TrimRight(strings.Join(cells, ""), " ")
}

// HistoryMarkdown writes one table a series, or, of all cases, one of their newest runs.
// Its only error is that of w.
func HistoryMarkdown(w io.Writer, h *record.History, one bool) error {
	m := &markdown{page: newPage(Options{})}
	if !one {
		m.row("case", "file", "runs", "newest", "last step")
		m.line("| --- | --- | ---: | ---: | --- |")
	}
	for _, s := range h.Series {
		if one {
			m.line("**" + escape(m.join(clean(s.Case), clean(s.File))) + "**: " + escape(m.facts(s.Setting)))
			m.blank()
			m.row("time (UTC)", "commit", "name", "time per call", "step")
			m.line("| --- | --- | --- | ---: | --- |")
		}
		step := map[int]string{}
		last := ""
		for _, st := range s.Steps {
			last = m.step(s, st)
			step[st.At] = last
		}
		if !one {
			m.row(escape(clean(s.Case)), escape(clean(s.File)), count(len(s.Points)), m.figure(s.Points[len(s.Points)-1]), last)
			continue
		}
		for i, p := range s.Points {
			m.row(escape(clean(p.Minute())), escape(clean(p.ShortCommit())), escape(clean(p.SavedAs)), m.figure(p), step[i])
		}
		m.blank()
	}
	return m.writeTo(w)
}
