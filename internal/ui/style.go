package ui

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Options say for whom a report is drawn.
type Options struct {
	Width int  // columns; 0 is 80, and no less than 60 are used
	Color bool // whether the terminal shows colours; the caller minds NO_COLOR
	ASCII bool // draw with ASCII alone

	Markdown bool // as GitHub renders it, for no terminal: nothing is shortened, and histograms are left out
}

const (
	MinWidth     = 60
	DefaultWidth = 80
)

func (o Options) normal() Options {
	if o.Width == 0 {
		o.Width = DefaultWidth
	}
	o.Width = max(o.Width, MinWidth)
	if o.Markdown {
		const endless = 1 << 20
		o.Width, o.Color, o.ASCII = endless, false, false
	}
	return o
}

// Glyphs are the signs that ASCII lacks.
type Glyphs struct {
	PlusMinus, micro, Times, Dash, Within, Dots, Dot, Arrow, AtLeast, None, Cross, gap string
	Point, Span, SpanLeft, SpanRight                                                   string // of an interval on a scale

	bars   []string // an eighth to a whole
	Sparks []string // nothing, then eighths
}

var (
	unicodeGlyphs = Glyphs{
		PlusMinus: "±", micro: "µ", Times: "×", Dash: "–", Within: "±", Dots: "…", Dot: " · ",
		Arrow: "→", AtLeast: "≥ ", None: "–", Cross: "✗", gap: "⋮",
		Point: "●", Span: "─", SpanLeft: "├", SpanRight: "┤",
		bars:   []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"},
		Sparks: []string{"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
	}
	asciiGlyphs = Glyphs{
		PlusMinus: "+-", micro: "u", Times: "x", Dash: "-", Within: "+-", Dots: "..", Dot: ", ",
		Arrow: "->", AtLeast: ">= ", None: "-", Cross: "x", gap: ":",
		Point: "o", Span: "-", SpanLeft: "|", SpanRight: "|",
		bars:   []string{"#"},
		Sparks: []string{".", "1", "2", "3", "4", "5", "6", "7", "8"},
	}
)

var inASCII = func() *strings.Replacer {
	u, a := unicodeGlyphs, asciiGlyphs
	return strings.NewReplacer(u.PlusMinus, a.PlusMinus, u.micro, a.micro, u.Times, a.Times, u.Dash, a.Dash, u.Dots, a.Dots,
		u.Dot, a.Dot, u.Arrow, a.Arrow, u.AtLeast, a.AtLeast)
}()

// Theme is the few styles of a report; all are plain without colours.
type Theme struct {
	Strong, Faint, Good, Bad, Warn, Bar lipgloss.Style
}

// themeOf uses the terminal's own sixteen colours, which its user chose to be
// readable.
func themeOf(color bool) Theme {
	plain := lipgloss.NewStyle()
	if !color {
		return Theme{plain, plain, plain, plain, plain, plain}
	}
	return Theme{
		Strong: plain.Bold(true),
		Faint:  plain.Faint(true),
		Good:   plain.Foreground(lipgloss.Green),
		Bad:    plain.Foreground(lipgloss.Red),
		Warn:   plain.Foreground(lipgloss.Yellow),
		Bar:    plain.Foreground(lipgloss.Cyan),
	}
}

// styles are the sequences that the styles of a theme begin and end with.
func (t Theme) styles() []string {
	var all []string
	for _, style := range []lipgloss.Style{t.Strong, t.Faint, t.Good, t.Bad, t.Warn, t.Bar} {
		before, after, _ := strings.Cut(style.Render("x"), "x")
		for _, s := range []string{before, after} {
			if s != "" {
				all = append(all, s)
			}
		}
	}
	return all
}

// harmless is a line of ours in which the terminal obeys the styles alone, should a name have come into it that nobody has cleaned.
func harmless(s string, styles []string) string {
	if !strings.ContainsFunc(s, harmful) {
		return s
	}
	var b strings.Builder
	for s != "" {
		if i := slices.IndexFunc(styles, func(style string) bool { return strings.HasPrefix(s, style) }); i >= 0 {
			b.WriteString(styles[i])
			s = s[len(styles[i]):]
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		if harmful(r) {
			r = '?'
		}
		b.WriteRune(r)
		s = s[n:]
	}
	return b.String()
}

// harmful tells of characters that move the cursor, begin what a terminal obeys, or turn text around; and of what is no text.
func harmful(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar
}

// Harmless is a text of one or more lines, as an error's, with nothing in it that a terminal obeys.
func Harmless(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\t", "    "), "\n")
	for i, l := range lines {
		lines[i] = harmless(l, nil)
	}
	return strings.Join(lines, "\n")
}

// Clean makes a text of the user's code fit for one line of a terminal: no control
// characters, which could move the cursor or turn the text around, and single spaces.
func Clean(s string) string {
	s = strings.Join(strings.Fields(ansi.Strip(s)), " ")
	return strings.Map(func(r rune) rune {
		if harmful(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// Shorten leaves out the middle of what is wider than width columns, since the ends
// of a case's name tell most.
func (g Glyphs) Shorten(s string, width int) string {
	full := lipgloss.Width(s)
	if full <= width {
		return s
	}
	keep := width - lipgloss.Width(g.Dots)
	if keep < 2 {
		return ansi.Truncate(s, max(0, width), "")
	}
	left := ansi.Truncate(s, (keep+1)/2, "")
	right := s
	for cut := full - keep/2; lipgloss.Width(right) > keep/2; cut++ { // a wide sign may stand on the cut
		right = ansi.TruncateLeft(s, cut, "")
	}
	return left + g.Dots + right
}

// ShortenAll shortens names, as Shorten does. Different ones that would look alike begin where they differ.
func (g Glyphs) ShortenAll(names []string, width int) []string {
	short := make([]string, len(names))
	alike := map[string][]string{} // the different names behind a short one
	for i, name := range names {
		short[i] = g.Shorten(name, width)
		if !slices.Contains(alike[short[i]], name) {
			alike[short[i]] = append(alike[short[i]], name)
		}
	}
	for i, name := range names {
		if others := alike[short[i]]; len(others) > 1 && width >= leastApart {
			short[i] = ansi.Truncate(g.Dots+name[differFrom(others):], width, g.Dots)
		}
	}
	return short
}

// leastApart is how many columns a name takes at least that begins where it differs.
const leastApart = 8

// differFrom is the byte from which on names are shown that begin alike: where they differ, or at the beginning of that word, or part of a path, if it is near.
func differFrom(names []string) int {
	first, n := names[0], len(names[0])
	for _, name := range names[1:] {
		n = min(n, len(name))
		for n > 0 && name[:n] != first[:n] {
			n--
		}
	}
	for n > 0 && n < len(first) && !utf8.RuneStart(first[n]) {
		n--
	}
	if space := strings.LastIndexAny(first[:n], " /") + 1; n-space < leastApart {
		return space
	}
	return n
}

// Sentence begins with a capital and ends with a full stop, unless it begins with a
// piece of code.
func Sentence(s string) string {
	if s == "" {
		return s
	}
	word, _, _ := strings.Cut(s, " ")
	if !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLower(r) }) {
		first, n := utf8.DecodeRuneInString(s)
		s = string(unicode.ToUpper(first)) + s[n:]
	}
	if last, _ := utf8.DecodeLastRuneInString(s); !strings.ContainsRune(".!?:", last) {
		s += "."
	}
	return s
}
