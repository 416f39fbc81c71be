package luajit

import (
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// TestOp: gcc clears the compiler's first flag with an operand of four bytes, clang with one.
func TestOp(t *testing.T) {
	for _, c := range []struct {
		code []byte
		want bool
	}{
		{[]byte{0x83, 0xa3, 0x88, 0x03, 0, 0, 0xfe}, true},           // andl $~1, 0x388(%rbx)
		{[]byte{0x80, 0xa3, 0x88, 0x03, 0, 0, 0xfe}, true},           // andb $0xfe, 0x388(%rbx)
		{[]byte{0x80, 0xa3, 0x88, 0x03, 0, 0, 0xfd}, false},          // andb $0xfd, 0x388(%rbx)
		{[]byte{0x81, 0xa3, 0x88, 0x03, 0, 0, 0xfe, 0, 0, 0}, false}, // andl $0xfe, 0x388(%rbx)
		{[]byte{0x41, 0x80, 0xa6, 0x90, 0x03, 0, 0, 0xfe}, false},    // of another register
		{[]byte{0x80, 0x8b, 0x88, 0x03, 0, 0, 0xfe}, false},          // orb
	} {
		decoded, err := x86asm.Decode(c.code, 64)
		if err != nil {
			t.Fatal(err)
		}
		i := instruction{decoded, len(c.code)}
		if got := i.op(x86asm.AND, x86asm.RBX, ^jitOn); got != c.want || c.want && i.offset() != 0x388 {
			t.Errorf("%v: %v at %#x", decoded, got, i.offset())
		}
	}
}
