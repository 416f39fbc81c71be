package jit

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/moonlap/moonlap/internal/process"
)

// A vector is a trace as it lay in the memory of luajit2 2.1-20230119, with what that LuaJIT itself told of it: the assembler, from
// which instruction of the IR each piece of machine code came, the recorder, in which line each instruction was emitted, and the loop
// optimization, what it copied. The folder oracle has the patch, and its script regenerate makes all vectors anew.
type vector struct {
	Name      string
	Address   uint64
	Parts     []part
	Protos    []sourceProto
	Functions map[uint64]uint64 // prototypes
	Upvalues  map[uint64][]uint64
	TypeNames map[uint64][]uint64
	Builtins  map[uint64]string
	Refs      []piece        // of the machine code
	Lines     map[int][]line // by instruction: the functions, outermost first
}

type part struct {
	At    uint64
	Bytes []byte
}

type sourceProto struct {
	Proto
	Lines []int // of each instruction
}

type piece struct {
	From, To uint64
	Ref      int
}

type line struct{ Depth, Line int }

// ReadAt, and what follows, make a process's memory and bytecode of a vector.
func (v *vector) ReadAt(p []byte, address uint64) error {
	for _, one := range v.Parts {
		if address >= one.At && address+uint64(len(p)) <= one.At+uint64(len(one.Bytes)) {
			copy(p, one.Bytes[address-one.At:])
			return nil
		}
	}
	return process.ErrLeftOut
}

func (v *vector) find(found func(*sourceProto) bool) *sourceProto {
	for i := range v.Protos {
		if found(&v.Protos[i]) {
			return &v.Protos[i]
		}
	}
	return nil
}

func (v *vector) Proto(address uint64) *Proto {
	if p := v.find(func(p *sourceProto) bool { return p.Address == address }); p != nil {
		return &p.Proto
	}
	return nil
}

func (v *vector) At(pc uint64) *Proto {
	if p := v.find(func(p *sourceProto) bool { return p.contains(pc) }); p != nil {
		return &p.Proto
	}
	return nil
}

func (v *vector) Lua(function uint64) uint64 { return v.Functions[function] }

func (v *vector) Upvalue(function uint64, n int) uint64 {
	if all := v.Upvalues[function]; n < len(all) {
		return all[n]
	}
	return 0
}

func (v *vector) Builtin(function uint64) string { return v.Builtins[function] }

func (v *vector) TypeName(function uint64, kind int) uint64 {
	if all := v.TypeNames[function]; kind < len(all) {
		return all[kind]
	}
	return 0
}

// lines are the first and the last line of a place.
func (v *vector) lines(c Call) (first, last int) {
	p := v.find(func(p *sourceProto) bool { return p.Address == c.Proto })
	for i, line := range p.Lines {
		if at := p.First + 4*uint64(i); c.Whole || at >= c.From && at <= c.To {
			if first == 0 || line < first {
				first = line
			}
			last = max(last, line)
		}
	}
	return first, last
}

func vectors(t testing.TB) (all []*vector) {
	files, _ := filepath.Glob("testdata/traces/*.json.gz")
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		var some []*vector
		if err := json.NewDecoder(z).Decode(&some); err != nil {
			t.Fatal(file, err)
		}
		f.Close()
		all = append(all, some...)
	}
	if len(all) < 20 {
		t.Fatalf("%d traces in testdata", len(all))
	}
	return all
}

// A score counts answers.
type score struct{ all, wrong, ranges int }

func (s score) check(t *testing.T, what string, wrong, ranges float64) {
	t.Helper()
	t.Logf("%s: %d, %d wrong, %d ranges", what, s.all, s.wrong, s.ranges)
	if float64(s.wrong) > wrong*float64(s.all) || float64(s.ranges) > ranges*float64(s.all) || s.all < 400 {
		t.Errorf("%s: of %d are %d wrong, %d ranges", what, s.all, s.wrong, s.ranges)
	}
}

// TestVectors holds the machine code and the lines of saved traces against what LuaJIT's own assembler and recorder told of them.
// Each instruction counts once, however often it runs. What stays wrong is mostly arithmetic that the next line has narrowed to
// integers: the recorder emits it there, and the walk finds it where the program has it.
func TestVectors(t *testing.T) {
	var code, heads, loops score
	for _, v := range vectors(t) {
		trace, err := Read(v, v.Address)
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		aligned := trace.align()
		places := NewMap(trace, v, 0)
		loop := trace.loop()
		for i, m := range aligned.list {
			at := trace.Address + uint64(m.at)
			want := First
			for _, p := range v.Refs {
				if at >= p.From && at < p.To {
					want = Bias + Ref(p.Ref)
				}
			}
			if want == First {
				continue // the trace's head, or its tail
			}
			code.all++
			switch s := aligned.spans[i]; {
			case want < s.From || want > s.To:
				code.wrong++
				t.Logf("%s: %v at %d is of %04d, not %04d to %04d", v.Name, m.Inst, m.at, want-Bias, s.From-Bias, s.To-Bias)
			case s.From != s.To:
				code.ranges++
			}
			truth := v.Lines[int(want-Bias)]
			if len(truth) == 0 {
				continue
			}
			lines := &heads
			if loop != 0 && want > loop {
				lines = &loops
			}
			lines.all++
			place, ok := places.At(m.at)
			if !ok {
				lines.ranges++
				continue
			}
			first, last := v.lines(place[len(place)-1])
			line := 0
			for _, one := range truth {
				if one.Depth < len(place) {
					line = one.Line
				}
			}
			switch {
			case line < first || line > last:
				lines.wrong++
				t.Logf("%s: %04d is of line %d, not %d to %d", v.Name, want-Bias, line, first, last)
			case first != last:
				lines.ranges++
			}
		}
	}
	code.check(t, "machine instructions", 0.0025, 0.1)
	heads.check(t, "lines before loops", 0.0015, 0.04)
	loops.check(t, "lines in loops", 0.004, 0.065)
}
