package luajit

import (
	"cmp"
	"testing"

	"github.com/moonlap/moonlap/internal/process"
)

// zeroed is memory of which a part reads as zeros, as what is older than what has been made there.
type zeroed struct {
	process.Memory
	part process.Interval
}

func (z *zeroed) ReadAt(b []byte, address uint64) error {
	err := z.Memory.ReadAt(b, address)
	for i := range b {
		if z.part.Contains(address + uint64(i)) {
			b[i] = 0
		}
	}
	return err
}

// TestReturned: of a C function that a trace called from a function it inlined, the line of the call is
// known by the snapshot that comes after it, but not where what is before it does not
// call.
func TestReturned(t *testing.T) {
	vm, image := load(t, "testdata/called.image")
	s, err := vm.Stack(image.Registers)
	if err != nil || s.Frames[0].Line != 141 || !s.Frames[0].Compiled {
		t.Fatal(s, err)
	}
	cframe := vm.reader().U64(s.Current+vm.Layout.CFrame) &^ 3
	begin := vm.begin(vm.reader(), image.Registers, s.Status, cframe)[0]
	back := begin.machine + 1
	if after, ok := vm.snapshotReturned(begin.trace, back, 0); !ok || len(after.frames) != 1 {
		t.Errorf("%+v, %v", after, ok)
	}
	code := s.Frames[0].proto + protoSize
	vm.Memory = &zeroed{image, process.Interval{From: code, To: code + 4*64}}
	if after, ok := vm.snapshotReturned(begin.trace, back, 0); ok {
		t.Errorf("where nothing calls: %+v", after)
	}
}

// TestMovesOnly: eight bytes of machine code, again and again.
func TestMovesOnly(t *testing.T) {
	for word, want := range map[uint64]bool{
		0xc289c28948c28948: true,  // mov %rax, %rdx; mov %rax, %rdx; mov %eax, %edx
		0xc2894800000000e8: false, // call; mov %rax, %rdx
		0xc28948c289480075: false, // jne; mov; mov
		0x9090909090909090: false,
		0:                  false, // add %al, (%rax)
	} {
		r := &process.Reader{Memory: &filled{word: word}}
		if got := movesOnly(r, 0x1000, 0x1010); got != want {
			t.Errorf("%#x: %v", word, got)
		}
		if !movesOnly(r, 0x1000, 0x1000) || movesOnly(r, 0x1010, 0x1000) {
			t.Error("from its end, or backwards")
		}
	}
}

// TestOld: what is read of a machine later or earlier than its stack is told from what is true.
func TestOld(t *testing.T) {
	vm, image := load(t, "testdata/called.image")
	s, err := vm.Stack(image.Registers)
	if err != nil || s.Unknown {
		t.Fatal(s, err)
	}
	name := vm.reader().U64(s.Frames[0].proto + protoChunkName)
	count := vm.Global + vm.Layout.Traces + tracesCount
	vm.Memory = &zeroed{image, process.Interval{From: name, To: name + stringBytes}}
	if s, err := vm.Stack(image.Registers); err == nil {
		t.Errorf("a function without the name of its file: %+v", s.Frames)
	}
	vm.Memory = &zeroed{image, process.Interval{From: count, To: count + 4}}
	if s, err := vm.Stack(image.Registers); err == nil && !s.Unknown {
		t.Errorf("a trace that is not there: %+v", s.Frames)
	}
}

// whole is an image in which the bytes that nobody has read, next to those that somebody has, are zero.
type whole struct{ process.Memory }

func (w whole) ReadAt(b []byte, address uint64) (err error) {
	any := false
	for i := range b {
		one := w.Memory.ReadAt(b[i:i+1], address+uint64(i))
		if any = any || one == nil; one != nil {
			b[i], err = 0, one
		}
	}
	if any {
		return nil
	}
	return err
}

// word is memory in which one word is another one.
type word struct {
	process.Memory
	at, value uint64
}

func (w *word) ReadAt(b []byte, address uint64) error {
	err := w.Memory.ReadAt(b, address)
	for i := range b {
		if n := address + uint64(i) - w.at; n < 8 {
			b[i] = byte(w.value >> (8 * n))
		}
	}
	return err
}

// a past is the memory of a moment, and what has become of it.
type past struct {
	process.Memory
	now    process.Memory
	hidden bool // which trace ran was not copied
}

func (p *past) Copied(uint64) bool  { return !p.hidden }
func (p *past) Now() process.Memory { return p.now }

// TestReplaced: the lines of a trace are read later than its stack was copied. Where another trace is at its place by then, or nothing,
// they are not taken for those of the one that ran.
func TestReplaced(t *testing.T) {
	for _, file := range []string{"testdata/compiled.image", "testdata/helper.image", "testdata/called.image"} {
		vm, image := load(t, file)
		want, err := vm.Stack(image.Registers)
		if err != nil || !want.Frames[0].Compiled || want.Frames[0].Line == 0 {
			t.Fatal(want, err)
		}
		cframe := vm.reader().U64(want.Current+vm.Layout.CFrame) &^ 3
		begin := vm.begin(vm.reader(), image.Registers, want.Status, cframe)[0]
		running := begin.trace.address
		start := process.Interval{From: running + traceStart, To: running + traceStart + 8}
		then := &word{whole{image}, start.From, vm.reader().U64(vm.reader().U64(begin.base-16)&pointerMask+functionPC) - protoSize}
		for _, c := range []struct {
			name   string
			past   past
			stands bool
		}{
			{"as it was", past{now: then}, true},
			{"as it was, hidden by the collector", past{now: then, hidden: true}, true},
			{"hidden, of another function", past{Memory: &zeroed{then, start}, now: &zeroed{then, start}, hidden: true}, false},
			{"other constants", past{now: &zeroed{then, process.Interval{From: running + traceIR, To: running + traceIR + 16}}}, false},
			{"another prototype", past{now: &zeroed{then, start}}, false},
			{"gone", past{now: &filled{word: 0}}, false},
		} {
			c.past.Memory = cmp.Or(c.past.Memory, process.Memory(then))
			got, err := vm.At(&c.past).Stack(image.Registers)
			if err != nil {
				t.Errorf("%s, %s: %v", file, c.name, err)
				continue
			}
			f := got.Frames[0]
			if c.stands && f != want.Frames[0] {
				t.Errorf("%s, %s: %+v, not %+v", file, c.name, f, want.Frames[0])
			}
			if !c.stands && (!f.Compiled || f.Line != 0 && f.Line != f.FirstLn) {
				t.Errorf("%s, %s: a line of what is not there: %+v", file, c.name, f)
			}
		}
	}
}
