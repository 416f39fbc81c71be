package jit

import (
	"strings"
	"testing"
)

// parent finds the trace of the same program that a side trace goes on from, as a VM's reader does.
func (v *vector) parent(t testing.TB, side *Trace, all []*vector) *vector {
	for _, other := range all {
		if program, _, _ := strings.Cut(v.Name, " "); other == v || !strings.HasPrefix(other.Name, program+" ") {
			continue
		}
		read, err := Read(other, other.Address)
		if err != nil {
			t.Fatal(other.Name, err)
		}
		if exit, ok := read.ExitTo(side.Address); ok {
			side.Parent, side.Exit = read, exit
			return other
		}
	}
	return nil
}

// TestReplayed: a side trace that makes an object for the trace before it names the line that made it there, as LuaJIT itself tells.
func TestReplayed(t *testing.T) {
	all := vectors(t)
	found := 0
	for _, v := range all {
		side, err := Read(v, v.Address)
		if err != nil {
			t.Fatal(v.Name, err)
		}
		if !side.Replays() {
			continue
		}
		parent := v.parent(t, side, all)
		if parent == nil {
			t.Errorf("%s: no trace leads to it", v.Name)
			continue
		}
		places := side.replayed(parent, 0, 1)
		for slot, ref := range side.Snapshots[0].Slots {
			i, ok := side.At(ref)
			if !ok || !sinking(i.Op) || ref >= side.Snapshots[0].Ref {
				continue
			}
			found++
			truth := parent.Lines[int(side.Parent.Snapshots[side.Exit].Slots[slot]-Bias)]
			place := places[ref]
			if len(truth) == 0 || len(place) == 0 {
				t.Errorf("%s: %s has no place: %v, in truth %v", v.Name, i.Op, place, truth)
				continue
			}
			if first, last := parent.lines(place[len(place)-1]); first != last || first != truth[len(truth)-1].Line {
				t.Errorf("%s: %s is of line %d, not %d to %d", v.Name, i.Op, truth[len(truth)-1].Line, first, last)
			}
		}
	}
	if found < 2 {
		t.Errorf("%d objects that side traces make for their parents", found)
	}
}
