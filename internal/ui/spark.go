package ui

import (
	"math"
	"strings"
)

// Spark draws a course of values up to most, with a sign for each; "" where there is one alone.
func (p *Page) Spark(course []float64, most float64) string {
	if len(course) < 2 {
		return ""
	}
	var b strings.Builder
	b.WriteByte(' ')
	for _, x := range course {
		// What is not empty is never drawn as empty.
		n := int(math.Ceil(float64(len(p.Sparks)-1) * x / max(most, math.SmallestNonzeroFloat64)))
		b.WriteString(p.Sparks[max(0, min(n, len(p.Sparks)-1))])
	}
	return b.String()
}
