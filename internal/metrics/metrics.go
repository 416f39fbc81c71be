// Package metrics writes pages in Prometheus's text format.
package metrics

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Page is families of metrics, each with its help and type once, before its values; in the order in which they were begun.
// The zero value is an empty one.
type Page struct {
	families []*family
	current  *family
}

type family struct {
	name, head string
	values     strings.Builder
}

// Family begins a family of metrics, or goes on with it. Names end in their base unit, and counters in _total.
func (p *Page) Family(name, kind, help string) {
	name = "moonlap_" + name
	if i := slices.IndexFunc(p.families, func(f *family) bool { return f.name == name }); i >= 0 {
		p.current = p.families[i]
		return
	}
	p.current = &family{name: name, head: fmt.Sprintf("# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)}
	p.families = append(p.families, p.current)
}

// Value writes a metric of the family; labels are names and values in turn.
func (p *Page) Value(v float64, labels ...string) { p.suffixed("", v, labels) }

// Histogram writes all parts of one: upTo says how many are at or below the bound i.
func (p *Page) Histogram(bounds []time.Duration, upTo func(i int) int, count int, sum time.Duration, labels ...string) {
	for i, bound := range bounds {
		p.suffixed("_bucket", float64(upTo(i)), append(slices.Clone(labels), "le", strconv.FormatFloat(bound.Seconds(), 'g', -1, 64)))
	}
	p.suffixed("_bucket", float64(count), append(slices.Clone(labels), "le", "+Inf"))
	p.suffixed("_sum", sum.Seconds(), labels)
	p.suffixed("_count", float64(count), labels)
}

func (p *Page) suffixed(suffix string, v float64, labels []string) {
	b := &p.current.values
	b.WriteString(p.current.name + suffix)
	for i := 0; i+1 < len(labels); i += 2 {
		start := ","
		if i == 0 {
			start = "{"
		}
		b.WriteString(start + labels[i] + `="` + escapeLabel(labels[i+1]) + `"`)
	}
	if len(labels) > 0 {
		b.WriteByte('}')
	}
	b.WriteString(" " + strconv.FormatFloat(v, 'g', -1, 64) + "\n")
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func escapeLabel(s string) string { return labelEscapes.Replace(strings.ToValidUTF8(s, "\uFFFD")) }

// WriteTo writes the page, in the text format's version 0.0.4.
func (p *Page) WriteTo(w io.Writer) (n int64, err error) {
	for _, f := range p.families {
		wrote, err := io.WriteString(w, f.head+f.values.String())
		if n += int64(wrote); err != nil {
			return n, err
		}
	}
	return n, nil
}
