package probe

import (
	"encoding/binary"
	"errors"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"github.com/moonlap/moonlap/internal/process"
)

// momentOf is a moment as the kernel writes it, with these chunks behind its head.
func momentOf(kind Kind, chunks ...[]byte) []byte {
	b := make([]byte, headSize)
	for _, c := range chunks {
		b = append(b, c...)
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-headSize))
	binary.LittleEndian.PutUint16(b[4:], uint16(kind))
	return b
}

func chunkOf(what uint32, address uint64, bytes []byte) []byte {
	b := make([]byte, chunkSize, chunkSize+len(bytes)+7)
	binary.LittleEndian.PutUint64(b, address)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(bytes)))
	binary.LittleEndian.PutUint32(b[12:], what)
	b = append(b, bytes...)
	for len(b)%8 > 0 {
		b = append(b, 0)
	}
	return b
}

// FuzzSnapshot: a moment's copies lie in the memory of a program that may write there what it likes, and its stacks may be garbage.
func FuzzSnapshot(f *testing.F) {
	f.Add(momentOf(OnCPU, chunkOf(chunkStack, 0x7ffe0000, make([]byte, 64)), chunkOf(chunkCoroutine, 0x1000, make([]byte, 128)), chunkOf(chunkFrame, 0x2000, make([]byte, 32))), uint64(16), uint64(0x1010))
	f.Add(momentOf(Back, chunkOf(chunkKernel, 0, make([]byte, 24)), chunkOf(chunkTimes, 0, make([]byte, 24))), uint64(0), uint64(0))
	f.Add(momentOf(17, chunkOf(chunkOwn, 0, make([]byte, 64)), chunkOf(chunkReturns, 0, make([]byte, 56))), uint64(1)<<63, ^uint64(0))
	f.Add(momentOf(Turn, chunkOf(chunkTimes, 0, make([]byte, 8))), uint64(8), uint64(8))
	f.Add([]byte{}, uint64(0), uint64(0))
	f.Fuzz(func(t *testing.T, b []byte, stack, address uint64) {
		workerOf(b)
		m, err := decode(b, stack)
		if err != nil {
			if !errors.Is(err, errSnapshot) {
				t.Fatal(err)
			}
			return
		}
		m.Call()
		m.State()
		for _, n := range []int{0, 1, 8, 4096} {
			into := make([]byte, n)
			if m.Alone().ReadAt(into, address) == nil && n > 0 && !m.Copied(address) {
				t.Fatalf("%d bytes at %#x are read of what was not copied", n, address)
			}
			m.Over(process.NewCopy(nil)).ReadAt(into, address)
			for _, c := range m.chunks {
				m.Alone().ReadAt(into, c.address)
				m.Alone().ReadAt(into, c.address+uint64(len(c.bytes))-1)
			}
		}
	})
}

// FuzzPlace: wherever a probe is placed in a function's code, it stands at the beginning of an instruction that the kernel emulates.
func FuzzPlace(f *testing.F) {
	f.Add([]byte{0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0xc3})                                     // endbr64; push rbp; mov; ret
	f.Add([]byte{0x48, 0x85, 0xc9, 0x74, 0x05, 0xe9, 0x00, 0x00, 0x00, 0x00, 0xc3})                         // test rcx,rcx; je; jmp
	f.Add([]byte{0x48, 0x85, 0xc9, 0x75, 0x80, 0xc3})                                                       // jne backwards
	f.Add([]byte{0x48, 0x89, 0xf8, 0xf0, 0x48, 0x0f, 0xb1, 0x0f, 0x75, 0xf7, 0xc3})                         // a loop around cmpxchg
	f.Add([]byte{0x48, 0x85, 0xc9, 0x0f, 0x85, 0xff, 0xff, 0xff, 0x7f, 0x90})                               // jne far away
	f.Add([]byte{0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00, 0x41, 0x57, 0x0f, 0x84}) // cut off
	f.Fuzz(func(t *testing.T, code []byte) {
		if len(code) > 1<<12 {
			return
		}
		check := func(at int) {
			if at < 0 || at >= len(code) || !emulated(code[at:]) {
				t.Fatalf("a probe at %d of % x", at, code)
			}
			for i := entry(code); i < at; {
				inst, err := x86asm.Decode(code[i:], 64)
				if err != nil {
					t.Fatalf("a probe at %d of % x, behind what is no instruction", at, code)
				}
				if i += inst.Len; i > at && inst.Op != x86asm.JNE {
					t.Fatalf("a probe at %d of % x, within an instruction", at, code)
				}
				if inst.Op == x86asm.JNE || inst.Op == x86asm.JE {
					return // found behind a jump: not in a row
				}
			}
		}
		for _, find := range []func(string, []byte) (uint64, error){CheapAtEntry, CheapAt} {
			if place, err := find("f", code); err == nil {
				check(int(place))
			}
		}
		if at, err := CheapInAllocator(code); err == nil {
			check(at)
		}
	})
}
