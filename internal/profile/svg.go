package profile

import (
	"bufio"
	_ "embed"
	"fmt"
	"html"
	"io"
)

// zoomJS has a picture zoom by clicks where a browser shows it by itself.
//
//go:embed assets/zoom.js
var zoomJS string

// Measures of the picture in pixels.
const (
	svgWidth  = 1200
	rowHeight = 17
	margin    = 10
	headSpace = 40
	charWidth = 6.6 // of the monospaced font at 11 pixels
	narrowest = 0.3 // a narrower frame is left out
)

// A colour and what it stands for.
type colour struct{ kind, name, colour string }

// colours of the kinds of frames; they tell interpreted from compiled Lua at a glance. The page has
// them in flame.css.
var colours = []colour{
	{"jit", "Lua, compiled", "#7cc576"},
	{"lua", "Lua, interpreted", "#f2a65a"},
	{"builtin", "LuaJIT's own functions", "#e9d16c"},
	{"c", "C", "#9db8d9"},
	{"kernel", "kernel", "#c9a6d8"},
}

// memoryColours are those of frames that hold memory.
var memoryColours = []colour{
	{"table", "tables", "#f2a65a"},
	{"text", "strings", "#7cc576"},
	{"code", "functions", "#e9d16c"},
	{"cdata", "C data", "#9db8d9"},
	{"other", "other", "#c9a6d8"},
}

func colourOf(kind string) string {
	for _, c := range append(colours, memoryColours...) {
		if c.kind == kind {
			return c.colour
		}
	}
	return "#cccccc"
}

// WriteSVG writes a flame graph as a picture: the width of a frame is its share of the samples, the
// frames that it called hang on it. A click zooms in; one on the root shows all again. A frame tells its name and share when the pointer rests on it.
func (p *Profile) WriteSVG(to io.Writer) error {
	root := p.Tree()
	legend := colours
	if p.Unit == Bytes {
		legend = memoryColours
	}
	picture := svg{
		title: p.Title, legend: legend,
		colour: func(n *Node) string { return colourOf(n.Kind) },
		describe: func(n *Node) string {
			return fmt.Sprintf("%s, %.1f %%", p.Unit.amount(n.Count), 100*float64(n.Count)/float64(root.Count))
		},
	}
	return picture.write(to, root)
}

// svg is how a picture is drawn.
type svg struct {
	title    string
	legend   []colour
	colour   func(*Node) string
	describe func(*Node) string
}

func (s svg) write(to io.Writer, root *Node) error {
	height := headSpace + max(root.Depth(), 2)*rowHeight + 2*margin
	w := bufio.NewWriter(to)
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="monospace" font-size="11">
<title>%s</title>
<rect width="100%%" height="100%%" fill="#ffffff"/>
<text x="%d" y="18" font-size="14">%s</text>
`, svgWidth, height, svgWidth, height, text(s.title), margin, text(s.title))
	x := float64(margin)
	for _, c := range s.legend {
		fmt.Fprintf(w, `<rect x="%.1f" y="25" width="10" height="10" fill="%s"/><text x="%.1f" y="34">%s</text>`+"\n",
			x, c.colour, x+14, text(c.name))
		x += 14 + charWidth*float64(len(c.name)) + 16
	}
	if root.Count > 0 {
		scale := float64(svgWidth-2*margin) / float64(root.Count)
		s.draw(w, root, margin, headSpace+margin, scale)
	} else {
		fmt.Fprintf(w, `<text x="%d" y="%d">There is nothing to draw: nothing was seen of what this profile is about.</text>`+"\n", margin, headSpace+2*margin)
	}
	fmt.Fprintf(w, "<script><![CDATA[\n%s]]></script>\n</svg>\n", zoomJS)
	return w.Flush()
}

func (s svg) draw(w io.Writer, n *Node, x, y, scale float64) {
	width := float64(n.Count) * scale
	if width < narrowest {
		return
	}
	fmt.Fprintf(w, `<g class="frame"><title>%s · %s · %s</title><rect x="%.1f" y="%.0f" width="%.1f" height="%d" fill="%s" rx="1"/>`,
		text(n.Name), text(n.Place), s.describe(n), x, y, max(width-0.5, narrowest), rowHeight-1, s.colour(n))
	name := []rune(n.Name)
	if fits := int((width - 6) / charWidth); fits < 3 {
		name = nil
	} else if len(name) > fits {
		name = append(name[:fits-1], '…')
	}
	fmt.Fprintf(w, `<text x="%.1f" y="%.0f">%s</text>`, x+3, y+12, text(string(name)))
	fmt.Fprintln(w, "</g>")
	for _, c := range n.Inner {
		s.draw(w, c, x, y+rowHeight, scale)
		x += float64(c.Count) * scale
	}
}

// text makes a string fit for XML.
func text(s string) string {
	clean := []rune{}
	for _, r := range s { // control characters are not allowed, not even escaped
		if r < ' ' || r == 0xfffe || r == 0xffff {
			r = '?'
		}
		clean = append(clean, r)
	}
	return html.EscapeString(string(clean))
}
