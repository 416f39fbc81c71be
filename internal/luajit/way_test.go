package luajit

import (
	"slices"
	"testing"
)

// bytecode of these tests: operation, and operand D or how far it jumps.
func at(op, d int) uint32     { return uint32(op) | uint32(d)<<16 }
func jumps(op, by int) uint32 { return at(op, by+jumpBias) }

const (
	isLT, mov, add, callF, ret0 = 0, 18, 32, opCALL, 75
)

// TestWay: which instructions may run between two snapshots, as far as they tell.
func TestWay(t *testing.T) {
	// 0 head, 1 mov, 2 test, 3 to 7, 4 call, 5 add, 6 back to 1, 7 return
	loop := []uint32{at(89, 0), at(mov, 0), at(isLT, 0), jumps(opJMP, 3), at(callF, 0), at(add, 0), jumps(opJMP, -6), at(ret0, 0)}
	// 0 head, 1 FORI, 2 call, 3 add, 4 FORL or another trace, 5 return
	counted := func(op int) []uint32 {
		return []uint32{at(89, 0), jumps(opFORI, 3), at(callF, 0), at(add, 0), jumps(op, -3), at(ret0, 0)}
	}
	straight := []uint32{at(89, 0), at(mov, 0), at(add, 0), at(ret0, 0)}
	const proto = 0x1000
	pc := func(n int) uint64 { return proto + protoSize + 4*uint64(n) }
	here := func(n int) snapshot { return snapshot{pc: pc(n)} }
	inside := func(n int) snapshot { return snapshot{frames: []inlined{{function: 1, link: pc(n) + 4}}} } // what that has called
	for _, c := range []struct {
		name   string
		code   []uint32
		stops  int  // a trace begins there; 0: none does
		folds  bool // constants decide comparisons
		window window
		want   []int
	}{
		{"forward", straight, 0, false, window{before: here(1), after: here(2)}, []int{1}},
		{"in the midst of a return", straight, 0, false, window{before: here(1), after: here(3)}, []int{1, 2, 3}},
		{"no way leads there", straight, 0, false, window{before: here(3), after: here(1)}, nil},
		{"in another function", loop, 0, false, window{before: here(100), after: here(1)}, nil},
		{"up to a comparison, which has a snapshot", loop, 0, false, window{before: here(5), after: here(7)}, []int{1, 2, 5, 6}},
		{"past it, where it has none", loop, 0, true, window{before: here(5), after: here(4)}, []int{1, 2, 4, 5, 6}},
		{"from one call to the next one", loop, 0, true, window{before: inside(4), after: inside(4)}, []int{1, 2, 4, 5, 6}},
		{"a comparison leads to where the trace has not gone", loop, 0, false, window{before: here(7), after: here(5)}, []int{2, 4}},
		{"within one instruction", counted(opFORL), 4, false, window{before: here(3), after: here(3)}, []int{3}},
		{"to the end of a numeric loop, which has a snapshot", counted(opFORL), 0, true, window{before: here(3), after: here(2)}, []int{3, 4}},
		{"what a trace begins with", counted(opFORL), 4, false, window{before: here(2), after: here(3), begins: pc(4)}, []int{2, 4}},
	} {
		w := newWay(code{proto: proto, ins: c.code, plain: c.code}, 0, 0)
		w.folds = c.folds
		if c.stops > 0 {
			w.stops[c.stops] = true
		}
		got := w.between(c.window, 0)
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", c.name, got, c.want)
		}
	}
	for folds, want := range map[bool]bool{true: true, false: false} {
		w := newWay(code{proto: proto, ins: loop, plain: loop}, 0, 0)
		w.folds = folds
		if got := w.again(4); got != want {
			t.Errorf("the same call comes again: %v; constants decide the loop's test: %v", got, folds)
		}
	}
}
