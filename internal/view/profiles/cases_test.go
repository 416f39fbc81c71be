package profiles

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/profile"
)

// TestInsideLoop: of the stacks what the timed loop called is left; where there is no loop, all.
func TestInsideLoop(t *testing.T) {
	lua := func(name, file string) profile.Frame {
		return profile.Frame{Function: name, File: file, Line: 7, Kind: profile.Lua, Compiled: true}
	}
	harness, loop, work := lua("run", "bench/measure.lua"), lua("", loopChunk), lua("work", "b.lua")
	write := func(stacks ...[]profile.Frame) (folded []string) {
		p := &profile.Profile{}
		for _, s := range stacks {
			p.Add(s, nil, 1)
		}
		insideLoop(p)
		for _, s := range p.Stacks {
			line := ""
			for _, f := range s.Frames {
				line += f.Name() + ";"
			}
			folded = append(folded, line)
		}
		return folded
	}
	got := write([]profile.Frame{harness, loop, work}, []profile.Frame{harness, loop}, []profile.Frame{harness})
	want := []string{"timed loop@moonlap loop;work@b.lua:7_[j];", "timed loop@moonlap loop;"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
	if got := write([]profile.Frame{harness, work}); len(got) != 1 || got[0] != "run@measure.lua:7_[j];work@b.lua:7_[j];" {
		t.Errorf("without a loop: %q", got)
	}
	if loop.Line != 7 {
		t.Error("the caller's frames have changed")
	}
}
