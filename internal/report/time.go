package report

import (
	"fmt"
	"io"
	"math"
	"slices"

	"charm.land/lipgloss/v2"
	"github.com/moonlap/moonlap/internal/record"
)

// Time draws the report of whole commands in a terminal. Its only error is that of w.
func Time(w io.Writer, res *record.CommandResults, opt Options) error {
	p := newPage(opt)
	p.line(p.strong.Render("moonlap time") + p.faint.Render(p.dot+fmt.Sprintf("seed %d", res.Seed)))
	p.fact("machine", p.machine(res.Environment))
	p.blank()
	headers, rows := p.commandTable(res.Commands, true)
	room := p.opt.Width - 2
	for col := 1; col < len(headers); col++ {
		room -= columnWidth(headers, rows, col)
	}
	for _, row := range rows {
		row[0] = p.shorten(row[0], max(room, nameWidth/2))
	}
	p.table(headers, rows)
	for i, c := range res.Commands {
		if c.WallNS != nil {
			p.command(c)
			if len(res.Commands) == 1 {
				p.bars(res.Cases[i].Bins)
			}
		}
	}
	for _, part := range comparisonsOf(res) {
		p.comparisonsNamed(part.name, part.list)
	}
	p.notes(res.Results)
	p.faults(res.Cases)
	p.footer(res.Results)
	return p.writeTo(w)
}

// TimeMarkdown writes the same as GitHub renders it. Its only error is that of w.
func TimeMarkdown(w io.Writer, res *record.CommandResults) error {
	p := newPage(Options{})
	m := &markdown{page: p}
	headers, rows := p.commandTable(res.Commands, false)
	m.row(headers...)
	line := "| --- |"
	for range headers[1:] {
		line += " ---: |"
	}
	m.line(line)
	for _, row := range rows {
		row[0] = escape(row[0])
		m.row(row...)
	}
	m.blank()
	for _, part := range comparisonsOf(res) {
		m.line("The " + part.name + ":")
		m.blank()
		m.comparisons(part.list)
	}
	m.notes(res.Results)
	m.faults(res.Cases)
	if !res.Complete {
		p.line("**Partial result.**")
		p.blank()
	}
	m.head(res.Results)
	return p.writeTo(w)
}

// commandTable is one row a command. The column without start-up stands only where some
// command has a twin.
func (p *page) commandTable(commands []record.CommandResult, narrow bool) (headers []string, rows [][]string) {
	twins := false
	for _, c := range commands {
		twins = twins || c.NetNS != nil
	}
	headers = []string{"command", "wall time"}
	if twins {
		headers = append(headers, "without start-up")
	}
	headers = append(headers, "CPU", "memory", "runs")
	for _, c := range commands {
		row := []string{clean(c.Name), "failed"}
		if c.WallNS != nil {
			row[1] = p.interval(c.WallNS.Interval)
		}
		if twins {
			net := p.none
			if c.NetNS != nil {
				net = p.interval(*c.NetNS)
			}
			row = append(row, net)
		}
		cpu := p.none
		if c.CPUNS != nil {
			cpu = p.time(c.CPUNS.Estimate)
		}
		rows = append(rows, append(row, cpu, p.peak(c), count(c.Runs)))
	}
	return headers, rows
}

// peak is the largest memory, where it is known.
func (p *page) peak(c record.CommandResult) string {
	if c.MaxRSS == 0 {
		return p.none
	}
	return p.size(float64(c.MaxRSS))
}

// command draws one command on its own.
func (p *page) command(c record.CommandResult) {
	p.blank()
	p.line(p.strong.Render(p.shorten(clean(c.Name), p.opt.Width)))
	d := c.WallNS
	p.fact("wall", p.interval(d.Interval))
	p.fact("spread", p.join("min "+p.time(d.Min), "p50 "+p.time(d.P50), "p90 "+p.time(d.P90), "max "+p.time(d.Max)))
	if c.NetNS != nil {
		p.fact("start-up", p.join(p.interval(*c.EmptyNS)+", measured with "+clean(c.Empty), p.interval(*c.NetNS)+" without it"))
	}
	net := ""
	if c.NetCPUNS != nil {
		net = p.interval(*c.NetCPUNS) + " without start-up"
	}
	p.fact("CPU", p.join(p.interval(*c.CPUNS), net, "user "+p.time(c.UserNS), "system "+p.time(c.SystemNS),
		percent(c.CPUNS.Estimate/d.Estimate)+" of the wall time"))
	p.fact("spawning", p.interval(*c.SpawnNS)+" of the wall time, to fork and exec")
	memory := "not known: less than moonlap itself, which forked it"
	if c.MaxRSS > 0 {
		memory = p.size(float64(c.MaxRSS)) + " at the most"
	}
	p.fact("memory", memory)
	p.fact("switches", fmt.Sprintf("%s to wait, %s forced, a run", median(c.Voluntary), median(c.Involuntary)))
	if c.Stdout+c.Stderr > 0 {
		p.fact("output", p.size(math.Round(c.Stdout+c.Stderr))+" a run")
	}
}

type comparisonList struct {
	name string
	list []record.Comparison
}

// comparisonsOf are the lists of comparisons that there are, each with its name.
func comparisonsOf(res *record.CommandResults) []comparisonList {
	wall, cpu := "wall time compared", "CPU time compared"
	lists := []comparisonList{{wall, res.Comparisons}}
	if len(res.Whole) > 0 {
		cpu += ", without start-up"
		lists = []comparisonList{{wall + ", without start-up", res.Comparisons}, {wall + ", whole commands", res.Whole}}
	}
	lists = append(lists, comparisonList{cpu, res.CPU})
	return slices.DeleteFunc(lists, func(l comparisonList) bool { return len(l.list) == 0 })
}

func (p *page) comparisonsNamed(name string, list []record.Comparison) {
	p.section(name)
	for _, c := range list {
		style := map[string]lipgloss.Style{record.Faster: p.good, record.Slower: p.bad}[c.Verdict]
		p.para("  ", clean(c.B)+" against "+clean(c.A), lipgloss.NewStyle())
		p.para("    ", p.join(p.verdict(c), p.evidence(c)), style)
	}
}
