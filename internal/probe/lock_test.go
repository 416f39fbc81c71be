package probe

import (
	"errors"
	"testing"
)

// TestCheapAt: what the kernel would single-step is refused, and an endbr64 is passed over.
func TestCheapAt(t *testing.T) {
	for code, offset := range map[string]int{
		"\x53\x48":                 0,  // push %rbx
		"\x41\x54\x55":             0,  // push %r12
		"\x90":                     0,  // nop
		"\xf3\x0f\x1e\xfa\x41\x57": 4,  // endbr64; push %r15
		"\xf3\x0f\x1e\xfa\x55":     4,  // endbr64; push %rbp
		"\xf3\x0f\x1e\xfa\x48\x8b": -1, // endbr64; mov
		"\x48\x8b\x17":             -1, // mov (%rdi),%rdx
		"\x41\x8b\x17":             -1, // mov (%r15),%edx
		"\x41\x90":                 -1, // xchg %eax,%r8d
		"\x41":                     -1,
		"\xf3\x0f\x1e\xfa":         -1,
		"":                         -1,
	} {
		f, err := CheapAt("f", []byte(code))
		switch {
		case offset < 0 && !errors.Is(err, ErrDear):
			t.Errorf("% x is taken at %d: %v", code, f.Offset, err)
		case offset >= 0 && (err != nil || f.Offset != uint64(offset) || f.Name != "f"):
			t.Errorf("% x: %v, %v", code, f, err)
		}
	}
}

// TestSpans: what two workers waited is added up; none has no shortest one.
func TestSpans(t *testing.T) {
	var none Spans
	a, b := Spans{Sum: 7, Least: 3}, Spans{Sum: 5, Least: 2}
	a.Longest, b.Longest = 4, 3
	a.counts[0], b.counts[0] = 2, 2
	for i, both := range []Spans{a.And(b), b.And(a), a.And(b).And(none), none.And(a).And(b)} {
		if both.Sum != 12 || both.Least != 2 || both.Longest != 4 || both.Count() != 4 || both.Percentile(99) != 4 {
			t.Errorf("%d: %v, from %v to %v, %d", i, both.Sum, both.Least, both.Longest, both.Count())
		}
	}
}
