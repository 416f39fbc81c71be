package stat

import (
	"testing"

	"github.com/moonlap/moonlap/internal/record"
)

func TestTelling(t *testing.T) {
	trace := func(id, parent, line int, lines, link string) record.Trace {
		return record.Trace{ID: id, Parent: parent, Source: record.Source{File: "r.lua", Line: line}, Lines: lines, Link: link, Own: true}
	}
	sets := func(n int, traces ...record.Trace) []map[signature]bool {
		var list []map[signature]bool
		for range n {
			list = append(list, signatures(&record.JIT{Traces: traces}))
		}
		return list
	}
	loop, rare := trace(1, 0, 12, "12-13", "loop"), trace(1, 0, 12, "12-13-15", "loop")
	side := trace(9, 1, 15, "15-16", "root")
	foreign := record.Trace{ID: 4, Source: record.Source{File: "other.lua", Line: 1}, Link: "loop"}
	for _, c := range []struct {
		name    string
		in, out []map[signature]bool
		want    string
	}{
		{"another root trace", sets(2, rare), sets(9, loop), "trace starts at r.lua:12 through lines 12-13-15"},
		{"a side trace more", sets(2, loop, side), sets(9, loop),
			"side trace starts at r.lua:15 through lines 15-16, link root, from the trace at r.lua:12"},
		{"a trace less", sets(9, loop), sets(2, loop, side),
			"no side trace starts at r.lua:15 through lines 15-16, link root, from the trace at r.lua:12"},
		{"the same", sets(9, loop), sets(2, loop), ""},
		{"only traces that are not the case's own", sets(9, loop), sets(2, loop, foreign), ""},
		{"now and then", append(sets(1, loop, side), sets(2, loop)...), sets(9, loop), ""},
		{"nothing to compare with", sets(9, loop), nil, ""},
	} {
		if got := telling(c.in, c.out); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
