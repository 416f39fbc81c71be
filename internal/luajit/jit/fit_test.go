package jit

import (
	"slices"
	"strings"
	"testing"
)

// TestUnfit: a trace with the machine code of another one has no lines at all; with its own it has.
func TestUnfit(t *testing.T) {
	type read struct {
		v     *vector
		trace *Trace
	}
	var all []read
	for _, v := range vectors(t) {
		trace, err := Read(v, v.Address)
		if err != nil {
			t.Fatal(v.Name, err)
		}
		if NewMap(trace, v, 0).Unfit {
			t.Errorf("%s does not fit its own machine code", v.Name)
		}
		all = append(all, read{v, trace})
	}
	others, taken := 0, 0
	for i, one := range all {
		other := all[(i+37)%len(all)].trace
		program, _, _ := strings.Cut(one.v.Name, " ")
		if strings.HasPrefix(all[(i+37)%len(all)].v.Name, program+" ") { // side traces of one program may be alike
			continue
		}
		if len(one.trace.IR) < 20 || len(other.IR) < 20 || slices.Equal(one.trace.IR, other.IR) {
			continue
		}
		mixed := *one.trace
		mixed.Code, mixed.Loop = other.Code, min(mixed.Loop, len(other.Code)-1)
		mixed.Snapshots = slices.Clone(mixed.Snapshots)
		for n := range mixed.Snapshots {
			mixed.Snapshots[n].Offset = min(mixed.Snapshots[n].Offset, len(mixed.Code))
		}
		others++
		if m := NewMap(&mixed, one.v, 0); !m.Unfit {
			taken++
			t.Logf("%s: takes the code of another trace for its own", one.v.Name)
		} else if _, ok := m.Sampled(len(mixed.Code) / 2); ok {
			t.Errorf("%s: a line of code that is not its own", one.v.Name)
		}
	}
	if others < 25 || taken*10 > others {
		t.Errorf("of %d traces with another's code %d pass", others, taken)
	}
}
