package sequential

import (
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
)

// A Row is one comparison: a case and another that took turns with it.
type Row struct{ A, B record.Case }

// Rows pairs the cases of each side with those of the first: by name, or, where every
// side has a single case, whatever they are called. The order is that of the first side.
// The cases of a single side pair with its first one.
func Rows(cases []record.Case) []Row {
	var sides []string
	of := map[string][]record.Case{}
	for _, c := range cases {
		if !slices.Contains(sides, c.Side) {
			sides = append(sides, c.Side)
		}
		of[c.Side] = append(of[c.Side], c)
	}
	var rows []Row
	if len(sides) == 1 {
		for _, b := range cases[1:] {
			rows = append(rows, Row{cases[0], b})
		}
		return rows
	}
	if len(sides) == 0 {
		return nil
	}
	single := !slices.ContainsFunc(sides, func(s string) bool { return len(of[s]) != 1 })
	for _, a := range of[sides[0]] {
		for _, side := range sides[1:] {
			for _, b := range of[side] {
				if single || ownName(a) == ownName(b) {
					rows = append(rows, Row{a, b})
				}
			}
		}
	}
	return rows
}

// SideName is the name in the record of a side's case that others share.
func SideName(name, side string) string { return name + "@" + side }

// ownName is a case's name without its side.
func ownName(c record.Case) string { return strings.TrimSuffix(c.Name, "@"+c.Side) }
