package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// History lists what the history store knows: the names that runs are kept under, and of
// each series its newest figure and its last step. Its only error is that of w.
func History(w io.Writer, h *record.History, opt ui.Options) error {
	p := newPage(opt)
	p.Line(p.Strong.Render("moonlap history"))
	p.Section("names")
	var rows [][]string
	for _, n := range h.Names {
		rows = append(rows, []string{ui.Clean(n.Name), ui.Count(n.Runs), ui.Clean(record.Minute(n.Last)), ui.Clean(strings.Join(n.Files, ", "))})
	}
	p.squeezed([]string{"name", "runs", "newest (UTC)", "files"}, rows, []int{3, 0}, 3)
	p.Section("cases")
	p.seriesList(h.Series)
	if other := manySettings(h.Series); other != "" {
		p.Blank()
		p.Para("", fmt.Sprintf("A case measured under different conditions is listed for each of them; 'moonlap history %s' says which.", other), p.Faint)
	}
	return p.Write(w)
}

// seriesList has a line a series. Where the terminal is narrow, first the interval of a
// step goes, then the run that it begins with, as each case's own report has them; then
// names are shortened.
func (p *page) seriesList(list []record.Series) {
	headers := []string{"case", "file", "runs", "newest", "last step"}
	var rows [][]string
	for _, step := range []func(record.Series, record.Step) string{p.step, p.stepShort, p.stepShortest} {
		rows = nil
		for _, s := range list {
			last := ""
			if n := len(s.Steps); n > 0 {
				last = step(s, s.Steps[n-1])
			}
			rows = append(rows, []string{ui.Clean(s.Case), ui.Clean(s.File), ui.Count(len(s.Points)), p.figure(s.Points[len(s.Points)-1]), last})
		}
		if ui.TableWidth(headers, rows) <= p.Options.Width {
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
		excess := ui.TableWidth(headers, rows) - p.Options.Width
		if excess <= 0 {
			break
		}
		room := max(least, ui.ColumnWidth(headers, rows, col)-2-excess)
		for _, row := range rows {
			row[col] = p.Shorten(row[col], room)
		}
	}
	p.Table(headers, rows, left...)
}

// manySettings is a case that has several series.
func manySettings(list []record.Series) string {
	for i, s := range list {
		if i > 0 && s.Case == list[i-1].Case && s.File == list[i-1].File {
			return ui.Clean(s.Case)
		}
	}
	return ""
}

// HistoryOf draws the series of one case: a line a run, with its interval on a scale that
// all runs share, and the steps between them. Its only error is that of w.
func HistoryOf(w io.Writer, h *record.History, opt ui.Options) error {
	p := newPage(opt)
	for i, s := range h.Series {
		if i > 0 {
			p.Blank()
		}
		p.Line(p.Strong.Render("moonlap history") + p.Faint.Render(p.Dot+p.Join(ui.Clean(s.Case), ui.Clean(s.File))))
		if i == 0 {
			p.Fact("measured", p.facts(s.Setting))
		} else {
			p.Fact("here", p.facts(s.Apart(h.Series[0].Setting)))
		}
		p.Blank()
		p.series(s)
	}
	return p.Write(w)
}

// facts are a setting in one paragraph.
func (p *page) facts(setting []record.Fact) string {
	var parts []string
	for _, f := range setting {
		value := ui.Clean(f.Value)
		if f.What == "jit.opt" {
			value = jitOpt(strings.Fields(value))
		}
		parts = append(parts, ui.Clean(f.What)+" "+value)
	}
	return p.Join(parts...)
}

// series draws the points below each other.
func (p *page) series(s record.Series) {
	if p.Options.Markdown {
		headers, rows := HistoryRuns(s)
		p.Table(headers, rows, 1, 2, 4)
		return
	}
	rows := make([][]string, len(s.Points))
	widths := make([]int, 4)
	for i, point := range s.Points {
		rows[i] = []string{ui.Clean(point.Minute()), ui.Clean(point.ShortCommit()), p.Shorten(ui.Clean(point.SavedAs), 16), p.figure(point)}
		for c, cell := range rows[i] {
			widths[c] = max(widths[c], lipgloss.Width(cell))
		}
	}
	room := p.Options.Width - 10 - widths[0] - widths[1] - widths[2] - widths[3]
	if room < leastColumns { // names go first
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 2, 3)
		}
		room += widths[2] + 2
		widths = slices.Delete(widths, 2, 3)
	}
	scale := newScale(s.Points, room)
	slowed := slices.MaxFunc(s.Points, bySlowed).Slowed
	for i, row := range rows {
		for _, st := range s.Steps {
			if st.At == i {
				style := p.Bad
				if st.Ratio.Estimate < 1 {
					style = p.Good
				}
				p.Line("  " + style.Render(p.Arrow+" "+p.step(s, st)))
			}
		}
		line := "  "
		if s.Points[i].Slowed > 0 {
			line = "~ "
		}
		for c, cell := range row {
			pad := strings.Repeat(" ", widths[c]-lipgloss.Width(cell))
			if c == len(row)-1 {
				line += pad + cell + "  "
			} else {
				line += cell + pad + "  "
			}
		}
		p.Line(line + p.Bar.Render(p.mark(scale, s.Points[i])))
	}
	if slowed > 0 {
		p.Para("", fmt.Sprintf("~ The machine was slower then, by up to %.0f %% of its best: such runs weigh less.", 100*slowed), p.Faint)
	}
}

func bySlowed(a, b record.Point) int { return cmp.Compare(a.Slowed, b.Slowed) }

// besides is what a table says of a run besides its figure: the step that it begins, and that the machine was slower.
func (p *page) besides(point record.Point, step string) string {
	if point.Slowed == 0 {
		return step
	}
	slower := fmt.Sprintf("machine slower, by up to %.0f %%", 100*point.Slowed)
	if step == "" {
		return slower
	}
	return step + p.Dot + slower
}

// figure is what a run found.
func (p *page) figure(point record.Point) string {
	if point.NSPerCall == nil {
		return "no figure"
	}
	return p.Interval(*point.NSPerCall)
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
	return " from " + ui.Clean(s.Points[st.At].Name())
}

// leastColumns is how narrow a scale can be.
const leastColumns = 10

// A plotScale maps times to columns.
type plotScale struct {
	low, high float64
	columns   int
}

// leastRoom is a share of the figure, so that noise too small to matter is drawn small.
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
		cells[c] = p.Span
	}
	if low < at && iv.Low >= s.low {
		cells[low] = p.SpanLeft
	}
	if high > at && iv.High <= s.high {
		cells[high] = p.SpanRight
	}
	cells[at] = p.Point
	return strings.TrimRight(strings.Join(cells, ""), " ")
}

// HistoryRuns is the table of a series' runs, for a page: the last run first. step names what changed with a run.
func HistoryRuns(s record.Series) (headers []string, rows [][]string) {
	p := newPage(ui.Options{})
	step := map[int]string{}
	for _, st := range s.Steps {
		step[st.At] = p.step(s, st)
	}
	for i, point := range slices.Backward(s.Points) {
		rows = append(rows, []string{ui.Clean(point.Minute()), ui.Clean(point.ShortCommit()), ui.Clean(point.SavedAs), p.figure(point), p.besides(point, step[i])})
	}
	return []string{"time (UTC)", "commit", "name", "time per call", "step"}, rows
}

// sparked is how many of the last runs a line of an overview has.
const sparked = 30

// HistoryLine is a series in a line of an overview: its newest figure, its course and its last step.
func HistoryLine(s record.Series) (headers, row []string) {
	p := newPage(ui.Options{})
	var course []float64
	for _, point := range s.Points[max(0, len(s.Points)-sparked):] {
		if point.NSPerCall != nil {
			course = append(course, point.NSPerCall.Estimate)
		}
	}
	spark := ""
	if len(course) > 1 {
		const ground = 0.8 // of the least, so that small changes show
		low := ground * slices.Min(course)
		most := slices.Max(course) - low
		for i := range course {
			course[i] -= low
		}
		spark = p.Spark(course, most)
	}
	last := ""
	if n := len(s.Steps); n > 0 {
		last = p.step(s, s.Steps[n-1])
	}
	newest := s.Points[len(s.Points)-1]
	return []string{"case", "file", "time per call", "last step", "last 30 runs", "runs", "newest (UTC)"},
		[]string{ui.Clean(s.Case), ui.Clean(s.File), p.figure(newest), last, spark, ui.Count(len(s.Points)), ui.Clean(newest.Minute())}
}

// HistoryFacts is under which conditions a series was measured; of a second one only what differs from the first.
func HistoryFacts(s, first record.Series, second bool) string {
	p := newPage(ui.Options{})
	if second {
		return ui.Unglued(p.facts(s.Apart(first.Setting)))
	}
	return ui.Unglued(p.facts(s.Setting))
}
