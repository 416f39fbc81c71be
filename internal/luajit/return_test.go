package luajit

import (
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
