package lapplot

import "fmt"

// An entry of a legend: a series or a kind of marks.
type entry struct {
	text string
	name string // of the series
	kind int    // of marks; -1: a series
	x    float64
	row  int
}

// wider is how much wider than ours the font of an SVG's reader may be: DejaVu Sans is.
const wider = 1.18

// legendOf lays a chart's legend out in rows.
func legendOf(c *Chart) (entries []entry, rows int) {
	seen := map[string]bool{}
	for _, s := range c.Series {
		if !seen[s.Name] {
			seen[s.Name] = true
			entries = append(entries, entry{text: s.Name, name: s.Name, kind: -1})
		}
	}
	for i, kind := range c.kinds() {
		entries = append(entries, entry{text: kind, kind: i})
	}
	if len(entries) == 0 {
		return nil, 0
	}
	x, row := 20.0, 0
	for i := range entries {
		e := &entries[i]
		e.text = clipText(e.text, fontSize, 400)
		width := 26 + wider*textWidth(e.text, fontSize) + 14
		if x > 20 && x+width > pageWidth-20 {
			x, row = 20, row+1
		}
		e.x, e.row = x, row
		x += width
	}
	return entries, row + 1
}

func (p *page) legend(c *Chart) {
	entries, rows := legendOf(c)
	for _, e := range entries {
		y := p.y + lineHeight*float64(e.row) + 9
		if e.kind >= 0 {
			p.sign(e.kind, xy{e.x + 9, y}, paint{muted, 1})
		} else {
			i := p.place[e.name]
			p.lines([][]xy{{{e.x, y}, {e.x + 18, y}}}, pen{paint{hueOf(i), 1}, 3, dashOf(i)})
		}
		p.text(e.x+24, y+4, e.text, face{size: fontSize, ink: text})
	}
	p.y += lineHeight * float64(rows)
}

// String is the ratio as a sentence: "new takes 1.031 times (1.024–1.038) as long as old:
// slower".
func (r Ratio) String() string {
	if !finite(r.Estimate) || r.Estimate <= 0 {
		return fmt.Sprintf("%s and %s: %s", r.A, r.B, orWords(r.Verdict, "no ratio"))
	}
	s := fmt.Sprintf("%s takes %.4g times as long as %s", r.B, r.Estimate, r.A)
	if finite(r.Low) && finite(r.High) && r.Low < r.High {
		s = fmt.Sprintf("%s takes %.4g times (%.4g–%.4g) as long as %s", r.B, r.Estimate, r.Low, r.High, r.A)
	}
	if r.Verdict != "" {
		s += ": " + r.Verdict
	}
	return s
}

func orWords(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
