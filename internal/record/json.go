package record

import (
	"fmt"
	"io"

	"github.com/moonlap/moonlap/internal/jsontext"
)

// WriteJSON writes the results as one indented JSON object. The same results give
// the same bytes; lists are never null.
func WriteJSON(w io.Writer, r *Results) error {
	if err := jsontext.Write(w, withoutNulls(r)); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// withoutNulls is a copy of r in which every list that a reader may loop over exists.
func withoutNulls(r *Results) *Results {
	out := *r
	out.Warnings = list(r.Warnings)
	out.Comparisons = list(r.Comparisons)
	out.Cases = make([]CaseResult, len(r.Cases))
	for i, c := range r.Cases {
		c.Modes = list(c.Modes)
		c.PerProcess = list(c.PerProcess)
		c.Warnings = list(c.Warnings)
		c.JIT.Aborts = list(c.JIT.Aborts)
		c.JIT.Blacklisted = list(c.JIT.Blacklisted)
		out.Cases[i] = c
	}
	return &out
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
