package lapplot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// WriteSVG writes the figure as SVG 1.1. Viewers that know prefers-color-scheme, which
// browsers do, show it dark to those who want it so.
func (f *Figure) WriteSVG(w io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	s := &svg{}
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %[1]g %[2]g" role="img">`,
		pageWidth, f.height())
	fmt.Fprintf(s, "<title>%s</title>\n<style>text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',sans-serif}\n"+
		"path{stroke-linejoin:round}\n@media (prefers-color-scheme:dark){", escape(f.caption()))
	for i, c := range darkInks {
		fmt.Fprintf(s, ".f%d{fill:%s}.s%[1]d{stroke:%[2]s}", i, hex(c))
	}
	s.WriteString("}</style>\n")
	f.draw(s)
	if s.grouped {
		s.WriteString("</g>\n")
	}
	s.WriteString("</svg>\n")
	_, err := w.Write(s.Bytes())
	return err
}

// svg is a canvas that writes elements with the light colours as attributes, which a style
// sheet may overrule.
type svg struct {
	bytes.Buffer
	grouped bool
}

func (s *svg) group(name string) {
	if s.grouped {
		s.WriteString("</g>\n")
	}
	s.grouped = true
	fmt.Fprintf(s, "<g id=\"%s\">\n", name)
}

func (s *svg) rect(x, y, width, height float64, p paint) {
	fmt.Fprintf(s, `<rect x="%s" y="%s" width="%s" height="%s"%s/>`+"\n", px(x), px(y), px(width), px(height), fill(p))
}

func (s *svg) lines(lines [][]xy, p pen) {
	if len(lines) == 0 {
		return
	}
	s.WriteString(`<path fill="none"` + stroke(p) + ` d="`)
	for _, l := range lines {
		s.path(l)
	}
	s.WriteString("\"/>\n")
}

func (s *svg) area(corners []xy, p paint) {
	s.WriteString(`<path` + fill(p) + ` d="`)
	s.path(corners)
	s.WriteString("z\"/>\n")
}

// dots are lines of no length with round ends, all in one path.
func (s *svg) dots(at []xy, radius float64, p paint) {
	if len(at) == 0 {
		return
	}
	s.WriteString(`<path fill="none" stroke-linecap="round"` + stroke(pen{p, 2 * radius, nil}) + ` d="`)
	for _, c := range at {
		s.WriteString("M" + px(c.x) + " " + px(c.y) + "h0")
	}
	s.WriteString("\"/>\n")
}

func (s *svg) path(points []xy) {
	for i, p := range points {
		if i == 0 {
			s.WriteByte('M')
		} else if i == 1 {
			s.WriteByte('L')
		} else {
			s.WriteByte(' ')
		}
		s.WriteString(px(p.x) + " " + px(p.y))
	}
}

func (s *svg) text(x, y float64, text string, f face) {
	more := ""
	switch f.anchor {
	case middle:
		more += ` text-anchor="middle"`
	case end:
		more += ` text-anchor="end"`
	}
	if f.bold {
		more += ` font-weight="600"`
	}
	if f.mono {
		more += ` style="font-family:ui-monospace,'DejaVu Sans Mono',monospace;white-space:pre" xml:space="preserve"`
	}
	if f.upward {
		more += fmt.Sprintf(` transform="rotate(-90 %s %s)"`, px(x), px(y))
	}
	fmt.Fprintf(s, `<text x="%s" y="%s" font-size="%g"%s%s>%s</text>`+"\n", px(x), px(y), f.size, more, fill(paint{f.ink, 1}), escape(text))
}

func fill(p paint) string {
	return fmt.Sprintf(` class="f%d" fill="%s"%s`, p.ink, hex(lightInks[p.ink]), opacity("fill", p))
}

func stroke(p pen) string {
	s := fmt.Sprintf(` class="s%d" stroke="%s" stroke-width="%s"%s`, p.ink, hex(lightInks[p.ink]), px(p.width), opacity("stroke", p.paint))
	if p.dash != nil {
		s += ` stroke-dasharray="` + px(p.dash[0]) + " " + px(p.dash[1]) + `"`
	}
	return s
}

func opacity(of string, p paint) string {
	if p.opacity == 1 {
		return ""
	}
	return fmt.Sprintf(` %s-opacity="%.2g"`, of, p.opacity)
}

// px is a coordinate with one decimal.
func px(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

// escape makes text of XML: what XML can't hold becomes U+FFFD.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes everything
	return b.String()
}
