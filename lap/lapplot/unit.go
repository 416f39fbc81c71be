package lapplot

import (
	"math"
	"strconv"
	"strings"
)

// A multiple is a name for N of a unit.
type multiple struct {
	per  float64
	name string
}

var multiples = map[Unit][]multiple{
	Number: {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}},
	Time:   {{1, " ns"}, {1e3, " µs"}, {1e6, " ms"}, {1e9, " s"}},
	Bytes:  {{1, " B"}, {1e3, " kB"}, {1e6, " MB"}, {1e9, " GB"}},
	Share:  {{0.01, " %"}},
	Times:  {{1, "×"}},
}

// multipleFor is the largest multiple of which x holds at least one.
func multipleFor(u Unit, x float64) multiple {
	all := multiples[u]
	best := all[0]
	for _, m := range all[1:] {
		if math.Abs(x) >= m.per*(1-1e-9) {
			best = m
		}
	}
	return best
}

// format prints x in the multiple m, exact to step.
func (m multiple) format(x, step float64) string {
	decimals := 0
	if s := step / m.per; s > 0 && s < 1 {
		decimals = min(12, int(math.Ceil(-math.Log10(s)-1e-9)))
	}
	text := strconv.FormatFloat(x/m.per, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		text = strings.TrimPrefix(text, "-")
	}
	return strings.Replace(text, "-", "−", 1) + m.name
}

// print shows x alone, with digits significant digits.
func (u Unit) print(x float64, digits int) string {
	if !finite(x) {
		return "?"
	}
	m := multipleFor(u, x)
	size := math.Abs(x / m.per)
	if size == 0 {
		return m.format(0, m.per)
	}
	step := m.per * math.Pow(10, math.Floor(math.Log10(size))-float64(digits-1))
	return m.format(x, step)
}
