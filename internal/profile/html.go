package profile

import (
	_ "embed"
	"encoding/json"
	"html"
	"io"
	"strings"
)

var (
	//go:embed assets/flame.html
	flameHTML string
	//go:embed assets/flame.css
	flameCSS string
	//go:embed assets/stacks.js
	stacksJS string
	//go:embed assets/functions.js
	functionsJS string
	//go:embed assets/flame.js
	flameJS string
	//go:embed assets/shares.js
	sharesJS string
)

// page is what the script of the page reads.
type page struct {
	Title  string      `json:"title"`
	Unit   Unit        `json:"unit,omitempty"`
	Period int64       `json:"period"` // ns
	Frames []drawn     `json:"frames"`
	Stacks []pageStack `json:"stacks"`
	Diff   *pageDiff   `json:"diff,omitempty"`

	index  map[drawn]int
	report string
}

type pageStack struct {
	Frames []int             `json:"f"`
	Count  int64             `json:"c"`
	Labels map[string]string `json:"l,omitempty"`
	Before [][2]int64        `json:"b,omitempty"` // of a difference: slice and count
	After  [][2]int64        `json:"a,omitempty"`
}

// pageDiff has the samples of both profiles by slice, and how often chance alone may colour a frame
// of the graph.
type pageDiff struct {
	Before []int64 `json:"before"`
	After  []int64 `json:"after"`
	Alpha  float64 `json:"alpha"`
}

// stack makes a stack of frames, which are kept once.
func (p *page) stack(frames []Frame, count int64, labels map[string]string) pageStack {
	one := pageStack{Frames: []int{}, Count: count, Labels: labels}
	for _, key := range drawnOf(frames) {
		n, ok := p.index[key]
		if !ok {
			n = len(p.Frames)
			p.index[key] = n
			p.Frames = append(p.Frames, key)
		}
		one.Frames = append(one.Frames, n)
	}
	return one
}

func newHTML(title, report string, period int64) *page {
	return &page{Title: title, Period: period, Frames: []drawn{}, Stacks: []pageStack{}, index: map[drawn]int{}, report: report}
}

// beside is a report as the page has it: titles, which begin their line, stand out.
func beside(report string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.ToValidUTF8(report, "\uFFFD")) {
		text := html.EscapeString(line)
		if !strings.HasPrefix(line, " ") && line != "\n" {
			text = "<b>" + strings.TrimSuffix(text, "\n") + "</b>\n"
		}
		b.WriteString(text)
	}
	return b.String()
}

func (p *page) write(to io.Writer) error {
	shares := ""
	if p.Diff != nil {
		shares = sharesJS
	}
	encoded, err := json.Marshal(p) // escapes <, > and &, so that no name ends the script
	if err != nil {
		return err
	}
	_, err = strings.NewReplacer(
		"{{title}}", html.EscapeString(strings.ToValidUTF8(p.Title, "\uFFFD")),
		"{{css}}", flameCSS,
		"{{data}}", string(encoded),
		"{{report}}", beside(p.report),
		"{{js}}", shares+stacksJS+functionsJS+flameJS,
	).WriteString(to, flameHTML)
	return err
}

// WriteHTML writes a flame graph as one page that loads nothing, with the report beside it. Its views are the graph, a table of all
// functions, and one function between its callers and callees; its reader searches, zooms, and chooses by label.
func (p *Profile) WriteHTML(to io.Writer, report string) error {
	period := p.Period.Nanoseconds()
	if p.Unit == Time {
		period = 1
	}
	out := newHTML(p.Title, report, period)
	out.Unit = p.Unit
	for _, s := range p.Stacks {
		out.Stacks = append(out.Stacks, out.stack(s.Frames, s.Count, s.Labels))
	}
	return out.write(to)
}
