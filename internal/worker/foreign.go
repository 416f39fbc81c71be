package worker

import (
	"encoding/binary"

	"github.com/moonlap/moonlap/internal/process"
)

// mostForeign is how much of the stack is searched for who called machine code that has no rules for its frames.
const mostForeign = 4 << 10

// foreign follows the frames outside of machine code that another compiler than LuaJIT's has made: that of regular
// expressions (PCRE). It has no rules for its frames, so its return address is looked for: it is behind an
// indirect call, and from there on all frames lead to Lua. Callers of code that knows no Lua are not looked for.
func (w *Worker) foreign(memory process.Memory, r process.Registers, inLua bool) ([]process.Registers, bool) {
	if m, ok := w.Mapped(r.RIP); !inLua || !ok || m.Path != "" {
		return nil, false
	}
	read := &process.Reader{Memory: memory}
	for at := r.RSP &^ 7; at < r.RSP+mostForeign && read.Err == nil; at += 8 {
		back := read.U64(at)
		if !w.indirectCall(back) {
			continue
		}
		caller := r
		caller.RIP, caller.RSP = back, at+8
		if rest, err := w.unwind(memory, caller, true, inLua); err == nil {
			return rest, true
		}
	}
	return nil, false
}

// indirectCall tells whether an address lies behind an instruction of a file that calls by a register or by memory.
func (w *Worker) indirectCall(address uint64) bool {
	const longest = 7
	if m, ok := w.Mapped(address); !ok || m.Path == "" {
		return false
	}
	var code [8]byte
	if w.ReadAt(code[:], address-uint64(len(code))) != nil {
		return false
	}
	for size := 2; size <= longest; size++ { // call r/m64 is ff /2
		c := binary.BigEndian.Uint16(code[len(code)-size:])
		if c>>8 == 0xff && c>>3&7 == 2 {
			return true
		}
	}
	return false
}
