package probe

import (
	"encoding/binary"
	"testing"

	"github.com/moonlap/moonlap/internal/process"
)

// TestRestore: what the kernel has put aside for probes comes back, and nothing else changes.
func TestRestore(t *testing.T) {
	const trampoline, copied, at, stack = 0x7fff_e000, 0x7fff_e080, 0x4010, 0x9000
	words := func(w ...uint64) (b []byte) {
		for _, one := range w {
			b = binary.LittleEndian.AppendUint64(b, one)
		}
		return b
	}
	head := []uint64{trampoline, copied, at}
	for name, c := range map[string]struct {
		returns   []uint64
		registers process.Registers
		want      process.Registers
		stack     []uint64
		after     []uint64
	}{
		"two functions":             {returns: append(head, stack, 0x51, stack+16, 0x52), stack: []uint64{trampoline, 7, trampoline}, after: []uint64{0x51, 7, 0x52}},
		"one that was jumped over":  {returns: append(head, stack, 0x51), stack: []uint64{8, trampoline}, after: []uint64{8, trampoline}},
		"beyond what was copied":    {returns: append(head, stack+16, 0x51, stack-8, 0x52, 0, 0x53), stack: []uint64{trampoline, 1}, after: []uint64{trampoline, 1}},
		"at the trampoline":         {append(head, stack-8, 0x51, stack+8, 0x52), process.Registers{RIP: trampoline + 1, RSP: stack - 24}, process.Registers{RIP: 0x51, RSP: stack}, []uint64{7, trampoline}, []uint64{7, 0x52}},
		"in a copied instruction":   {head, process.Registers{RIP: copied + 4, RSP: stack}, process.Registers{RIP: at + 4, RSP: stack}, []uint64{7}, []uint64{7}},
		"in the program itself":     {head, process.Registers{RIP: at, RSP: stack}, process.Registers{RIP: at, RSP: stack}, []uint64{7}, []uint64{7}},
		"no trampoline":             {returns: []uint64{0, 0, 0, stack, 0x51}, stack: []uint64{0}, after: []uint64{0}},
		"cut off behind an address": {returns: append(head, stack), stack: []uint64{trampoline}, after: []uint64{trampoline}},
		"cut off at its beginning":  {returns: head[:2], stack: []uint64{trampoline}, after: []uint64{trampoline}},
		"nothing":                   {stack: []uint64{trampoline}, after: []uint64{trampoline}},
	} {
		m := Snapshot{Registers: c.registers, chunks: []chunk{{stack, words(c.stack...)}}}
		m.restore(words(c.returns...))
		if got := m.chunks[0].bytes; string(got) != string(words(c.after...)) {
			t.Errorf("%s: the stack is % x", name, got)
		}
		if m.Registers != c.want {
			t.Errorf("%s: registers %+v", name, m.Registers)
		}
	}
}
