package watch

import (
	"fmt"
	"strconv"
	"strings"
)

// An exposition is a page in Prometheus's text format: families of metrics, each with its help and
// type once, before its values.
type exposition struct {
	b    strings.Builder
	name string // of the family that is being written
}

// family begins a family of metrics. Names end in their base unit, and counters in _total.
func (e *exposition) family(name, kind, help string) {
	e.name = "moonlap_" + name
	fmt.Fprintf(&e.b, "# HELP %s %s\n# TYPE %s %s\n", e.name, help, e.name, kind)
}

// value writes a metric of the family; labels are names and values in turn.
func (e *exposition) value(v float64, labels ...string) { e.suffixed("", v, labels...) }

// suffixed is for the parts of a histogram.
func (e *exposition) suffixed(suffix string, v float64, labels ...string) {
	e.b.WriteString(e.name + suffix)
	for i := 0; i+1 < len(labels); i += 2 {
		start := ","
		if i == 0 {
			start = "{"
		}
		e.b.WriteString(start + labels[i] + `="` + escapeLabel(labels[i+1]) + `"`)
	}
	if len(labels) > 0 {
		e.b.WriteByte('}')
	}
	e.b.WriteString(" " + strconv.FormatFloat(v, 'g', -1, 64) + "\n")
}

// histogram writes all parts of one; bounds and sum are in seconds.
func (e *exposition) histogram(h *histogram, labels ...string) {
	total := uint64(0)
	for i, bound := range waitBounds {
		if h.counts != nil {
			total += h.counts[i]
		}
		e.suffixed("_bucket", float64(total), append(labels[:len(labels):len(labels)], "le", strconv.FormatFloat(bound.Seconds(), 'g', -1, 64))...)
	}
	if h.counts != nil {
		total += h.counts[len(waitBounds)]
	}
	e.suffixed("_bucket", float64(total), append(labels[:len(labels):len(labels)], "le", "+Inf")...)
	e.suffixed("_sum", h.sum.Seconds(), labels...)
	e.suffixed("_count", float64(total), labels...)
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func escapeLabel(s string) string { return labelEscapes.Replace(strings.ToValidUTF8(s, "\uFFFD")) }
