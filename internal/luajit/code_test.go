package luajit

import (
	"fmt"
	"testing"
)

// TestAround: which loops an instruction is in, the innermost first, whatever LuaJIT has made of them.
func TestAround(t *testing.T) {
	ad := func(op, jump int) uint32 { return uint32(op) | uint32(jump+jumpBias)<<16 }
	const nothing = 18 // MOV
	plain := []uint32{
		opFUNCF,
		ad(opFORI, 12), // 1 for i = …
		nothing,
		ad(opISNEXT, 1), // 3 for k, v in pairs
		nothing,
		ad(opITERN, 0), // 5
		ad(opITERL, -3),
		nothing, // 7 while, its condition
		ad(opLOOP, 3),
		nothing,
		nothing,
		ad(opJMP, -5),       // 11 to the condition
		ad(opLOOP+1, 0),     // 12 a loop of one instruction that was given up
		ad(opFORL, -12),     // 13
		ad(opFORI, 1000),    // 14 leads out of the function: garbage
		ad(opITERL+1, -100), // 15 before it
	}
	c := code{ins: plain, plain: plain}
	for _, want := range []struct {
		at      int
		regions string
	}{
		{0, "[[0]"}, {1, "[[0]"}, {2, "[[13]:2 [0]"}, {4, "[[6 5]:4 [13]:2 [0]"}, {6, "[[6 5]:4 [13]:2 [0]"},
		{7, "[[8]:7 [13]:2 [0]"}, {10, "[[8]:7 [13]:2 [0]"}, {12, "[[12]:12 [13]:2 [0]"}, {13, "[[13]:2 [0]"}, {14, "[[0]"}, {-1, "[[0]"},
	} {
		got := "["
		for i, g := range c.around(want.at) {
			if i > 0 {
				got += " "
			}
			if got += fmt.Sprint(g.heads); g.loop {
				got += fmt.Sprint(":", g.from)
			}
		}
		if got != want.regions {
			t.Errorf("%d: %s, want %s", want.at, got, want.regions)
		}
	}
}

// TestLimits: parameters are found by those around them, and not in anything like them.
func TestLimits(t *testing.T) {
	parameters := []int32{8000, 16000, 500, 100, 500, 3, 56, 10, 4, 4, 15, 3, 2, 64, 40960}
	state := func(at int, lists ...[]int32) []uint64 {
		words := make([]uint64, 64)
		for n, list := range lists {
			for i, p := range list {
				i += at + 40*n
				words[i/2] |= uint64(uint32(p)) << (32 * (i % 2))
			}
		}
		return words
	}
	want := Limits{Traces: 8000, Side: 100, Code: 40960 << 10}
	for at := range 20 {
		if got := findLimits(state(at, parameters)); got != want {
			t.Errorf("at %d: %+v", at, got)
		}
	}
	if got := findLimits(state(0, parameters, parameters)); got != (Limits{}) {
		t.Errorf("twice: %+v", got)
	}
	if got := findLimits(state(0, parameters[2:])); got != (Limits{}) {
		t.Errorf("cut: %+v", got)
	}
	if got := findLimits(nil); got != (Limits{}) {
		t.Errorf("nothing: %+v", got)
	}
}
