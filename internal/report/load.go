package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/sequential"
	"github.com/moonlap/moonlap/internal/ui"
)

// LoadOptions say what of a run of load is drawn.
type LoadOptions struct {
	ui.Options
	Percentiles bool // the whole distribution, wrk's --latency
}

// Load draws the report of a run of load: the verdict first. Its only error is that of w.
func Load(w io.Writer, res *record.LoadResults, opt LoadOptions) error {
	p := newPage(opt.Options)
	p.Line(p.Strong.Render("moonlap load") + p.Faint.Render(p.Dot+fmt.Sprintf("seed %d", res.Seed)))
	p.loadVerdicts(res)
	p.Blank()
	p.loadFigures(res)
	p.loadTags(res)
	if opt.Percentiles {
		p.loadPercentiles(res)
	}
	p.Blank()
	if len(res.Hosts) > 0 {
		p.loadHosts(res)
	} else {
		p.clients(res)
	}
	p.loadMeasuredWith(res)
	if !res.Complete {
		p.Blank()
		p.Para("", "Partial result: the run did not end as planned.", p.Bad)
	}
	return p.Write(w)
}

// clients draws, for each side, whether the client had a share in its figures.
func (p *page) clients(res *record.LoadResults) {
	for _, s := range res.Sides {
		text := p.client(s, res.Problems)
		if len(res.Sides) > 1 {
			text = ui.Clean(s.Name) + ": " + text
		}
		p.Fact("client", text)
	}
}

// loadHosts is what each machine saw, and whether its client had a share in that.
func (p *page) loadHosts(res *record.LoadResults) {
	headers := []string{"host", "side", "req/s", "p50", "p99", "lag", "client CPU", "tail"}
	var rows [][]string
	for _, h := range res.Hosts {
		for i, s := range h.Sides {
			name, tail := ui.Clean(h.Name), "server's"
			if i > 0 {
				name = ""
			}
			switch {
			case s.Responses == 0:
				tail = p.None
			case s.Client.Saturated:
				tail = "client's"
			}
			rows = append(rows, []string{name, ui.Clean(s.Name), p.loadRate(s.Rate), p.Time(s.LatencyNS.P50), p.Time(s.LatencyNS.P99),
				p.Time(s.Client.LoopLagP99NS), ui.Percent(s.Client.CPUShare), tail})
		}
	}
	if len(res.Sides) == 1 {
		headers, rows = pick(headers, rows, func(header string) bool { return header != "side" })
	} else {
		p.shortenSecond(headers, rows)
	}
	p.ShortenFirst(headers, rows)
	p.Table(headers, rows, 1)
	p.Blank()
}

// loadMeasuredWith says last what was asked of which server, and on which machine.
func (p *page) loadMeasuredWith(res *record.LoadResults) {
	if len(res.Sides) == 1 || res.Load.Searching {
		for _, s := range res.Sides[:min(1, len(res.Sides))] {
			p.Fact("URL", ui.Clean(s.URL))
		}
	} else {
		for _, s := range res.Sides {
			name, url := ui.Clean(s.Name), ui.Clean(s.URL)
			if name == url {
				url = ""
			}
			p.Fact("side", p.Join(name, url))
		}
	}
	p.Fact("load", p.loadPlan(res))
	if len(res.Hosts) == 0 {
		p.Fact("machine", p.machine(res.Environment))
	}
	for _, h := range res.Hosts {
		p.measuredOn(h.Name, h.Environment, h.Complete)
	}
}

// loadVerdicts are what a reader came for: comparisons, the highest rate, what went wrong.
func (p *page) loadVerdicts(res *record.LoadResults) {
	for i, c := range res.Comparisons {
		if i == 0 || c.B != res.Comparisons[i-1].B {
			p.Para("  ", p.Strong.Render(ui.Clean(c.B)+" against "+ui.Clean(c.A)), lipgloss.NewStyle())
		}
		p.Para("    ", p.loadComparison(res, c), p.styleOf(c.Verdict))
	}
	if res.Load.SelfTest && len(res.Comparisons) > 0 {
		text, style := "self-test: equal sides are reported as equal", p.Good
		if res.Outcome == record.LoadFalseAlarm {
			text, style = "self-test: equal sides are reported as different", p.Bad
		}
		p.Para("  ", text, style)
	}
	if res.MaxRate != nil {
		p.Para("  ", fmt.Sprintf("highest rate that keeps %s: %s requests a second", strings.Join(res.Load.Limits, ", "), ui.Count(int64(math.Round(*res.MaxRate)))), p.Good)
	}
	for _, problem := range res.Problems {
		text := problem.Text
		if problem.Side != "" && len(res.Sides) > 1 {
			text = ui.Clean(problem.Side) + ": " + text
		}
		if problem.Advice != "" {
			text += "; " + problem.Advice
		}
		style := lipgloss.NewStyle()
		if problem.Decides {
			style = p.Bad
		}
		p.Para("  ! ", ui.Clean(text), style)
	}
	if len(res.Limits) > 0 && !res.Load.Searching && res.Outcome == record.LoadOK {
		p.Para("  ", "kept: "+strings.Join(res.Load.Limits, ", "), p.Good)
	}
}

// loadMetrics name what sides are compared by.
var loadMetrics = map[string]string{
	sequential.MetricRate: "time an answer, of req/s", sequential.MetricCPU: "server CPU an answer", sequential.MetricMean: "mean latency",
}

// MetricName is what a metric of load is called.
func MetricName(metric string) string {
	if name := loadMetrics[metric]; name != "" {
		return name
	}
	return metric
}

func (p *page) loadComparison(res *record.LoadResults, c record.Comparison) string {
	verdict := p.verdict(c)
	if c.Verdict == record.Undecided {
		verdict = "undecided" + p.between(c.Ratio)
		if c.Needs > 0 {
			more := roundUp(c.Needs / 2)
			long := float64(more) * 2 * float64(len(res.Sides)) * res.Load.SliceNS
			verdict += fmt.Sprintf(": needs about %s more, %s", ui.Plural(more, "block", "blocks"), p.Time(long))
		}
	}
	return MetricName(c.Metric) + ": " + p.Join(verdict, ui.Plural(c.Pairs, "block", "blocks"), smallest(c))
}

func (p *page) loadPlan(res *record.LoadResults) string {
	l := res.Load
	loop := "closed loop"
	switch {
	case len(l.Stages) > 0:
		loop = fmt.Sprintf("open loop, %s", ui.Plural(len(l.Stages), "stage", "stages"))
	case res.Load.Searching:
		loop = "open loop, searching the highest rate"
	case l.Rate > 0:
		loop = fmt.Sprintf("open loop, %s requests a second, %s", ui.Count(int64(l.Rate)), l.Arrivals)
	}
	compared := len(res.Sides) > 1 && !res.Load.Searching
	return p.Join(ui.Plural(l.Threads*max(1, l.Machines), "thread", "threads"), ui.Plural(l.Connections, "connection", "connections"), loop,
		ui.When(l.Pipeline > 1, fmt.Sprintf("%d requests in a pipeline", l.Pipeline)), p.Time(res.ElapsedNS)+" measured",
		ui.When(compared, "slices of "+p.Time(l.SliceNS)+" in balanced random order"),
		ui.When(l.Machines > 1, ui.Plural(l.Machines, "machine", "machines")))
}

// loadFigures draws the table of the sides. Where that is wider than the page, latencies have a table of their own.
func (p *page) loadFigures(res *record.LoadResults) {
	headers, rows := p.loadTable(res)
	if ui.TableWidth(headers, rows) <= p.Options.Width {
		p.Table(headers, rows)
		return
	}
	isLatency := func(header string) bool {
		from, to := slices.Index(headers, "latency"), slices.Index(headers, "max")
		i := slices.Index(headers, header)
		return from <= i && i <= to
	}
	one := func(wanted func(header string) bool, rows [][]string) {
		some, kept := pick(headers, rows, wanted)
		if some[0] == "side" {
			p.ShortenFirst(some, kept)
		}
		p.Table(some, kept)
	}
	whole := [][]string{} // of the two rows of a side, the one that has figures of the whole side
	for i := 0; i < len(rows); i += 2 {
		whole = append(whole, rows[i])
	}
	one(func(header string) bool { return !isLatency(header) }, whole)
	p.Blank()
	one(func(header string) bool { return header == "side" || isLatency(header) }, rows)
}

// pick is the part of a table whose columns are wanted.
func pick(headers []string, rows [][]string, wanted func(header string) bool) (some []string, kept [][]string) {
	kept = make([][]string, len(rows))
	for i, header := range headers {
		if !wanted(header) {
			continue
		}
		some = append(some, header)
		for k, row := range rows {
			kept[k] = append(kept[k], row[i])
		}
	}
	return some, kept
}

// shortenSecond shortens the second column, of names as the first is, to its half of the room that the others leave.
func (p *page) shortenSecond(headers []string, rows [][]string) {
	names := p.Options.Width - ui.TableWidth(headers[2:], part(rows, 2))
	for _, row := range rows {
		row[1] = p.Shorten(row[1], max(8, names/2-len("  ")))
	}
}

// part is a table without its first columns.
func part(rows [][]string, from int) (rest [][]string) {
	for _, row := range rows {
		rest = append(rest, row[from:])
	}
	return rest
}

// loadTable is two rows a side: latencies corrected, and raw.
func (p *page) loadTable(res *record.LoadResults) (headers []string, rows [][]string) {
	server := false
	for _, s := range res.Sides {
		server = server || s.Server != nil
	}
	headers = []string{"side", "req/s", "latency", "p50", "p90", "p99", "p99.9", "max"}
	if server {
		headers = append(headers, "server CPU")
	}
	headers = append(headers, "errors")
	defer func() {
		if len(res.Sides) == 1 { // its name stands above
			headers = headers[1:]
			for i := range rows {
				rows[i] = rows[i][1:]
			}
		}
	}()
	for _, s := range res.Sides {
		latency := func(l record.LoadLatency) []string {
			if l.Count == 0 {
				return []string{p.None, p.None, p.None, p.None, p.None}
			}
			return []string{p.Time(l.P50), p.Time(l.P90), p.Time(l.P99), p.Time(l.P999), p.Time(l.Max)}
		}
		first := append([]string{ui.Clean(s.Name), p.loadRate(s.Rate), "corrected"}, latency(s.LatencyNS)...)
		second := append([]string{"", "", "raw"}, latency(s.RawNS)...)
		if server {
			cpu := p.None
			if s.Server != nil {
				cpu = p.Interval(s.Server.CPUPerRequestNS)
			}
			first, second = append(first, cpu), append(second, "")
		}
		rows = append(rows, append(first, ui.Count(s.Errors.Total())), append(second, ""))
	}
	return headers, rows
}

// loadRate is whole answers a second, with the interval where it says something.
func (p *page) loadRate(r record.Interval) string {
	arm := math.Max(r.High-r.Estimate, r.Estimate-r.Low)
	text := ui.Count(int64(math.Round(r.Estimate)))
	if arm < 0.5 || !ui.Finite(arm) {
		return text
	}
	return text + " " + p.PlusMinus + " " + ui.Count(int64(math.Ceil(arm)))
}

func (p *page) loadTags(res *record.LoadResults) {
	var rows [][]string
	for _, s := range res.Sides {
		for _, t := range s.Tags {
			l := t.LatencyNS
			rows = append(rows, []string{ui.Clean(t.Name), ui.Clean(s.Name), ui.Count(t.Count), p.Time(l.P50), p.Time(l.P99), p.Time(l.Max), ui.Count(t.Errors)})
		}
	}
	if len(rows) > 0 {
		headers := []string{"tag", "side", "answers", "p50", "p99", "max", "errors"}
		p.shortenSecond(headers, rows)
		p.Blank()
		p.ShortenFirst(headers, rows)
		p.Table(headers, rows, 1)
	}
}

// loadPercentiles are the distributions, corrected.
func (p *page) loadPercentiles(res *record.LoadResults) {
	headers := []string{"latency, corrected"}
	room := (p.Options.Width-len("  "+headers[0]))/max(1, len(res.Sides)) - len("  ")
	for _, s := range res.Sides {
		headers = append(headers, p.Shorten(ui.Clean(s.Name), max(room, len("99.9 ms"))))
	}
	var rows [][]string
	for _, q := range []struct {
		name string
		of   func(record.LoadLatency) float64
	}{
		{"mean", func(l record.LoadLatency) float64 { return l.Mean }},
		{"stdev", func(l record.LoadLatency) float64 { return l.Stdev }},
		{"min", func(l record.LoadLatency) float64 { return l.Min }},
		{"50 %", func(l record.LoadLatency) float64 { return l.P50 }},
		{"75 %", func(l record.LoadLatency) float64 { return l.P75 }},
		{"90 %", func(l record.LoadLatency) float64 { return l.P90 }},
		{"99 %", func(l record.LoadLatency) float64 { return l.P99 }},
		{"99.9 %", func(l record.LoadLatency) float64 { return l.P999 }},
		{"99.99 %", func(l record.LoadLatency) float64 { return l.P9999 }},
		{"max", func(l record.LoadLatency) float64 { return l.Max }},
	} {
		row := []string{q.name}
		for _, s := range res.Sides {
			row = append(row, p.Time(q.of(s.LatencyNS)))
		}
		rows = append(rows, row)
	}
	p.Blank()
	p.Table(headers, rows)
}

// client is the line by which the figures of a side can be doubted; what is among the problems is not said again.
func (p *page) client(s record.LoadSide, problems []record.LoadProblem) string {
	c := s.Client
	said := slices.ContainsFunc(problems, func(one record.LoadProblem) bool { return one.Text == c.Verdict })
	offered, achieved := ui.Count(int64(math.Round(s.OfferedRate))), ui.Count(int64(math.Round(s.Rate.Estimate)))
	return p.Join(ui.When(!said, c.Verdict),
		fmt.Sprintf("X·R/N %.2f", c.XROverN),
		fmt.Sprintf("loop lag p99 %s, max %s", p.Time(c.LoopLagP99NS), p.Time(c.LoopLagMaxNS)),
		ui.When(s.OfferedRate > 0, fmt.Sprintf("offered %s/s, achieved %s/s", offered, achieved)),
		"client CPU "+ui.Percent(c.CPUShare)+ui.When(s.Responses > 0, fmt.Sprintf(", %s an answer", p.Time(c.CPUPerRequestNS))),
		quietFor(s.Quiet))
}

// mostlyQuiet is the share of the time that nothing slowed the machine from which on the report does not mention it.
const mostlyQuiet = 0.9

// quietFor says how much of the time nothing slowed the machine, where that matters.
func quietFor(q *record.Quiet) string {
	if q == nil || q.Share >= mostlyQuiet {
		return ""
	}
	return fmt.Sprintf("the machine was quiet for %s of the time", ui.Percent(q.Share))
}
