// Package ui draws: pages for a terminal, with their tables, bars and figures. It knows nothing of what they are about.
package ui

import (
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Page collects the lines of a terminal report. No line is wider than Options.Width.
type Page struct {
	Theme
	Glyphs
	Options Options
	b       strings.Builder
	styles  []string // of the theme

	Unfit []string // headers of columns that there was no room for
}

// NewPage is an empty page.
func NewPage(opt Options) *Page {
	opt = opt.normal()
	g := unicodeGlyphs
	if opt.ASCII {
		g = asciiGlyphs
	}
	theme := themeOf(opt.Color)
	return &Page{Theme: theme, Glyphs: g, Options: opt, styles: theme.styles()}
}

// String is what the page has until now.
func (p *Page) String() string { return p.b.String() }

// Write writes the page. Its only error is that of w.
func (p *Page) Write(w io.Writer) error {
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// Line adds a line.
func (p *Page) Line(s string) {
	if p.Options.Markdown {
		p.item(s)
		return
	}
	p.b.WriteString(strings.TrimRight(harmless(p.plain(unglue.Replace(s)), p.styles), " "))
	p.b.WriteByte('\n')
}

// plain has other rooms' texts without the signs that ASCII lacks, where that is wanted. What is the user's, as a
// case's name, stays as it is otherwise.
func (p *Page) plain(s string) string {
	if !p.Options.ASCII {
		return s
	}
	return inASCII.Replace(s)
}

// Blank adds an empty line; in Markdown, where there is none yet.
func (p *Page) Blank() {
	if p.Options.Markdown {
		if text := p.b.String(); text != "" && !strings.HasSuffix(text, "\n\n") {
			p.b.WriteByte('\n')
		}
		return
	}
	p.b.WriteByte('\n')
}

// Section begins a part of the report with its name.
func (p *Page) Section(name string) {
	p.Blank()
	if p.Options.Markdown {
		p.b.WriteString("**" + p.inMarkdown(name) + "**\n\n")
		return
	}
	p.Line(p.Strong.Render(name))
}

// Para wraps a text behind a first word, all lines below each other: the label of a
// fact, the sign of a note.
func (p *Page) Para(first, text string, style lipgloss.Style) {
	if text == "" {
		return
	}
	if p.Options.Markdown {
		p.item(first + text)
		return
	}
	text = p.plain(text)
	indent := lipgloss.Width(first)
	for i, l := range strings.Split(ansi.Wrap(glue.Replace(text), p.Options.Width-indent, ""), "\n") {
		lead := strings.Repeat(" ", indent)
		if i == 0 {
			lead = first
		}
		p.Line(lead + style.Render(strings.TrimRight(l, " ")))
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

// Unglued is a text of Join's outside of a page.
func Unglued(s string) string { return unglue.Replace(s) }

// labelWidth holds the longest label, "machine", between two margins.
const labelWidth = 11

// Fact is one line of a list: a faint label, and what it is.
func (p *Page) Fact(label, text string) {
	if p.Options.Markdown && label != "" && text != "" {
		p.item("  " + label + ": " + text)
		return
	}
	p.Para(p.label(label), text, lipgloss.NewStyle())
}

func (p *Page) label(label string) string {
	return "  " + p.Faint.Render(label) + strings.Repeat(" ", max(1, labelWidth-2-lipgloss.Width(label)))
}

// Join puts separate facts on one line; short ones stay whole at its end.
func (p *Page) Join(parts ...string) string {
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
	return strings.Join(some, p.Dot)
}

// When is a text where a condition holds, and else nothing: for parts that Join leaves out.
func When(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

// Call is a line and what it calls; either may be missing, as in a page fault of compiled code.
func (p *Page) Call(line, called string) string {
	if line == "" || called == "" {
		return line + called
	}
	return line + " " + p.Arrow + " " + called
}
