package report

import (
	"fmt"
	"io"
	"math"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

// Time draws the report of whole commands in a terminal, the answer first, as [Terminal]. Its only error is that of w.
func Time(w io.Writer, res *record.CommandResults, opt ui.Options) error {
	p := newPage(opt)
	p.Line(p.Strong.Render("moonlap time") + p.Faint.Render(p.Dot+fmt.Sprintf("seed %d", res.Seed)))
	wall, cpu := "wall time compared", "CPU time compared"
	if len(res.Whole) == 0 {
		p.comparisons(wall, res.Comparisons)
	} else {
		p.comparisons(wall+", without start-up", res.Comparisons)
		p.comparisons(wall+", whole commands", res.Whole)
		cpu += ", without start-up"
	}
	p.comparisons(cpu, res.CPU)
	p.Blank()
	headers, rows := p.commandTable(res.Commands)
	room := p.Options.Width - 2 - ui.TableWidth(headers[1:], part(rows, 1))
	for i, short := range p.ShortenAll(ui.Column(rows, 0), max(room, nameWidth/2)) {
		rows[i][0] = short
	}
	p.Table(headers, rows)
	p.notes(res.Results)
	p.faults(res.Cases)
	for i, c := range res.Commands {
		if c.WallNS != nil {
			p.command(c)
			p.Fact("quiet", p.quietRuns(res.Cases[i]))
			if len(res.Commands) == 1 {
				p.Fact("shape", p.Shape(res.Cases[i].Bins))
			}
		}
	}
	p.Blank()
	p.Fact("on", p.machine(res.Environment))
	p.footer(res.Results)
	return p.Write(w)
}

// commandTable is one row a command. The column without start-up stands only where some
// command has a twin.
func (p *page) commandTable(commands []record.CommandResult) (headers []string, rows [][]string) {
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
		row := []string{ui.Clean(c.Name), "failed"}
		if c.WallNS != nil {
			row[1] = p.Interval(c.WallNS.Interval)
		}
		if twins {
			net := p.None
			if c.NetNS != nil {
				net = p.Interval(*c.NetNS)
			}
			row = append(row, net)
		}
		cpu := p.None
		if c.CPUNS != nil {
			cpu = p.Time(c.CPUNS.Estimate)
		}
		rows = append(rows, append(row, cpu, p.peak(c), ui.Count(c.Runs)))
	}
	return headers, rows
}

// peak is the largest memory, where it is known.
func (p *page) peak(c record.CommandResult) string {
	if c.MaxRSS == 0 {
		return p.None
	}
	return p.Size(float64(c.MaxRSS))
}

// command draws one command on its own.
func (p *page) command(c record.CommandResult) {
	p.Blank()
	p.Line(p.Strong.Render(p.Shorten(ui.Clean(c.Name), p.Options.Width)))
	d := c.WallNS
	p.Fact("wall", p.Interval(d.Interval))
	p.Fact("spread", p.Join("min "+p.Time(d.Min), "p50 "+p.Time(d.P50), "p90 "+p.Time(d.P90), "max "+p.Time(d.Max)))
	if c.NetNS != nil {
		p.Fact("start-up", p.Join(p.Interval(*c.EmptyNS)+", measured with "+ui.Clean(c.Empty), p.Interval(*c.NetNS)+" without it"))
	}
	net := ""
	if c.NetCPUNS != nil {
		net = p.Interval(*c.NetCPUNS) + " without start-up"
	}
	p.Fact("CPU", p.Join(p.Interval(*c.CPUNS), net, "user "+p.Time(c.UserNS), "system "+p.Time(c.SystemNS),
		ui.Percent(c.CPUNS.Estimate/d.Estimate)+" of the wall time"))
	p.Fact("spawning", p.Interval(*c.SpawnNS)+" of the wall time, to fork and exec")
	memory := "not known: less than moonlap itself, which forked it"
	if c.MaxRSS > 0 {
		memory = p.Size(float64(c.MaxRSS)) + " at the most"
	}
	p.Fact("memory", memory)
	p.Fact("switches", fmt.Sprintf("%s to wait, %s forced, a run", ui.Count(int64(math.Round(c.Voluntary))), ui.Count(int64(math.Round(c.Involuntary)))))
	if c.Stdout+c.Stderr > 0 {
		p.Fact("output", p.Size(math.Round(c.Stdout+c.Stderr))+" a run")
	}
}

// quietRuns says how the figure would read with the runs that something slowed, where that matters.
func (p *page) quietRuns(c record.CaseResult) string {
	if c.NSPerCall == nil || !differs(c.Quiet, c.NSPerCall.Estimate) {
		return ""
	}
	return fmt.Sprintf("%s of the runs, and the figures are of these alone%s%s less start-up with the rest",
		ui.Percent(c.Quiet.Share), p.Dot, p.Time(c.Quiet.AllNS))
}
