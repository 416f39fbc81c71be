package profile

import "testing"

// TestLines: only compiled code counts as one without a line, and what a C function was called from is the Lua line.
func TestLines(t *testing.T) {
	lua := func(line, last int, compiled bool) Frame {
		return Frame{Function: "f", File: "a.lua", FirstLine: 1, Line: line, LastLine: last, Kind: Lua, Compiled: compiled}
	}
	p := Profile{Stacks: []Stack{
		{Count: 5, Frames: []Frame{lua(7, 0, true)}},
		{Count: 2, Frames: []Frame{lua(7, 9, true), {Function: "memcpy", Kind: C}}},
		{Count: 1, Frames: []Frame{lua(3, 0, true), lua(0, 0, true)}},
		{Count: 1, Frames: []Frame{lua(0, 0, false)}},
		{Count: 1, Frames: []Frame{{Function: "main", Kind: C}}},
	}}
	if ranges, none := p.Lines(); ranges != 0.2 || none != 0.1 {
		t.Errorf("ranges %v, none %v", ranges, none)
	}
}
