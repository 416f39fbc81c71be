package report

import (
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"github.com/charmbracelet/x/ansi"
)

// page collects the lines of a terminal report. No line is wider than opt.Width.
type page struct {
	theme
	glyphs
	opt Options
	b   strings.Builder

	unfit []string // headers of columns that there was no room for
}

func newPage(opt Options) *page {
	opt = opt.normal()
	g := unicodeGlyphs
	if opt.ASCII {
		g = asciiGlyphs
	}
	return &page{theme: themeOf(opt.Color), glyphs: g, opt: opt}
}

func (p *page) writeTo(w io.Writer) error {
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func (p *page) line(s string) {
	p.b.WriteString(strings.TrimRight(p.plain(unglue.Replace(s)), " "))
	p.b.WriteByte('\n')
}

// plain has other rooms' texts without the signs that ASCII lacks, where that is wanted. What is the user's, as a
// case's name, stays as it is otherwise.
func (p *page) plain(s string) string {
	if !p.opt.ASCII {
		return s
	}
	return inASCII.Replace(s)
}

func (p *page) blank() { p.b.WriteByte('\n') }

// section begins a part of the report with its name.
func (p *page) section(name string) {
	p.blank()
	p.line(p.strong.Render(name))
}

// para wraps a text behind a first word, all lines below each other: the label of a
// fact, the sign of a note.
func (p *page) para(first, text string, style lipgloss.Style) {
	if text == "" {
		return
	}
	text = p.plain(text)
	indent := lipgloss.Width(first)
	for i, l := range strings.Split(ansi.Wrap(glue.Replace(text), p.opt.Width-indent, ""), "\n") {
		lead := strings.Repeat(" ", indent)
		if i == 0 {
			lead = first
		}
		p.line(lead + style.Render(strings.TrimRight(l, " ")))
	}
}

// glue keeps together what must not be parted at the end of a line: a figure and its
// unit, a flag and its dashes, a fact and the dot behind it.
var (
	glue = strings.NewReplacer(" · ", "\u00a0· ", " ± ", "\u00a0±\u00a0", " +- ", "\u00a0+\u2011\u00a0",
		" ns", "\u00a0ns", " µs", "\u00a0µs", " us", "\u00a0us", " ms", "\u00a0ms",
		" B", "\u00a0B", " kB", "\u00a0kB", " MB", "\u00a0MB", " %", "\u00a0%", "-", "\u2011")
	unglue = strings.NewReplacer("\u00a0", " ", "\u2011", "-")
)

// labelWidth holds the longest label, "machine", between two margins.
const labelWidth = 11

// fact is one line of a list: a faint label, and what it is.
func (p *page) fact(label, text string) {
	p.para(p.label(label), text, lipgloss.NewStyle())
}

func (p *page) label(label string) string {
	return "  " + p.faint.Render(label) + strings.Repeat(" ", labelWidth-2-len(label))
}

// join puts separate facts on one line; short ones stay whole at its end.
func (p *page) join(parts ...string) string {
	const short = 16
	var some []string
	for _, s := range parts {
		if s == "" {
			continue
		}
		if lipgloss.Width(s) <= short {
			s = strings.ReplaceAll(s, " ", "\u00a0")
		}
		some = append(some, s)
	}
	return strings.Join(some, p.dot)
}

// table draws rows under headers: the first column, and those in left, at the left,
// the others at the right.
func (p *page) table(headers []string, rows [][]string, left ...int) {
	leftCol := map[int]bool{0: true}
	for _, c := range left {
		leftCol[c] = true
	}
	for _, row := range rows {
		for i := range row {
			row[i] = p.plain(row[i])
		}
	}
	t := table.New().
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).
		BorderColumn(false).BorderHeader(false).BorderRow(false).Wrap(false).
		Headers(headers...).Rows(rows...).
		StyleFunc(func(row, col int) lipgloss.Style {
			style := lipgloss.NewStyle()
			if row == table.HeaderRow {
				style = p.faint
			}
			if !leftCol[col] {
				style = style.Align(lipgloss.Right)
			}
			return style.PaddingLeft(2)
		})
	for _, l := range strings.Split(t.String(), "\n") {
		p.line(l)
	}
}
