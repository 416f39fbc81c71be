package report

import (
	"strings"
	"unicode"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Options say for whom a report is drawn.
type Options struct {
	Width int  // columns; 0 is 80, and no less than 60 are used
	Color bool // whether the terminal shows colours; the caller minds NO_COLOR
	ASCII bool // draw with ASCII alone
	// Detail is how many cases are drawn with their histogram. When there are more,
	// only those that need a look are: with modes, faults, laps or no figure. 0 is 8.
	Detail int
}

const (
	minWidth      = 60
	defaultWidth  = 80
	defaultDetail = 8
)

func (o Options) normal() Options {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	o.Width = max(o.Width, minWidth)
	if o.Detail == 0 {
		o.Detail = defaultDetail
	}
	return o
}

// glyphs are the signs that ASCII lacks.
type glyphs struct {
	plusMinus, micro, times, dash, within, dots, dot, arrow, atLeast, none, cross, gap string
	point, span, spanLeft, spanRight                                                   string // of an interval on a scale

	bars   []string // an eighth to a whole
	sparks []string // nothing, then eighths
}

var (
	unicodeGlyphs = glyphs{
		plusMinus: "±", micro: "µ", times: "×", dash: "–", within: "±", dots: "…", dot: " · ",
		arrow: "→", atLeast: "≥ ", none: "–", cross: "✗", gap: "⋮",
		point: "●", span: "─", spanLeft: "├", spanRight: "┤",
		bars:   []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"},
		sparks: []string{"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
	}
	asciiGlyphs = glyphs{
		plusMinus: "+-", micro: "u", times: "x", dash: "-", within: "+-", dots: "..", dot: ", ",
		arrow: "->", atLeast: ">= ", none: "-", cross: "x", gap: ":",
		point: "o", span: "-", spanLeft: "|", spanRight: "|",
		bars:   []string{"#"},
		sparks: []string{".", "1", "2", "3", "4", "5", "6", "7", "8"},
	}
)

var inASCII = func() *strings.Replacer {
	u, a := unicodeGlyphs, asciiGlyphs
	return strings.NewReplacer(u.plusMinus, a.plusMinus, u.micro, a.micro, u.times, a.times, u.dash, a.dash, u.dots, a.dots,
		u.dot, a.dot, u.arrow, a.arrow, u.atLeast, a.atLeast)
}()

// theme is the few styles of a report; all are plain without colours.
type theme struct {
	strong, faint, good, bad, warn, bar lipgloss.Style
}

// themeOf uses the terminal's own sixteen colours, which its user chose to be
// readable.
func themeOf(color bool) theme {
	plain := lipgloss.NewStyle()
	if !color {
		return theme{plain, plain, plain, plain, plain, plain}
	}
	return theme{
		strong: plain.Bold(true),
		faint:  plain.Faint(true),
		good:   plain.Foreground(lipgloss.Green),
		bad:    plain.Foreground(lipgloss.Red),
		warn:   plain.Foreground(lipgloss.Yellow),
		bar:    plain.Foreground(lipgloss.Cyan),
	}
}

// clean makes a text of the user's code fit for one line of a terminal: no control
// characters, which could move the cursor or turn the text around, and single spaces.
func clean(s string) string {
	s = strings.Join(strings.Fields(ansi.Strip(s)), " ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// shorten leaves out the middle of what is wider than width columns, since the ends
// of a case's name tell most.
func (g glyphs) shorten(s string, width int) string {
	full := lipgloss.Width(s)
	if full <= width {
		return s
	}
	keep := width - lipgloss.Width(g.dots)
	if keep < 2 {
		return ansi.Truncate(s, max(0, width), "")
	}
	left := ansi.Truncate(s, (keep+1)/2, "")
	right := s
	for cut := full - keep/2; lipgloss.Width(right) > keep/2; cut++ { // a wide sign may stand on the cut
		right = ansi.TruncateLeft(s, cut, "")
	}
	return left + g.dots + right
}
