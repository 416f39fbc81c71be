package worker

import (
	"encoding/binary"
	"fmt"

	"github.com/moonlap/moonlap/internal/process"
)

const maxC = 128 // C frames of one stack

// Unwind follows the C frames from the registers on, up to the outermost one or to where Lua begins:
// its frames have been walked already. The error tells of a chain that broke. after reports that the
// registers are those behind a call, inLua that Lua called the C function, or was called by it.
func (w *Worker) Unwind(memory process.Memory, r process.Registers, after, inLua bool) ([]process.Registers, error) {
	var all []process.Registers
	for len(all) < maxC {
		// The innermost function is none of Lua's, else there were nothing to unwind. It may be
		// machine code of another compiler's, that of regular expressions.
		if len(all) > 0 && inLua && w.runsLua(r.RIP) {
			return all, nil
		}
		all = append(all, r)
		next, err := w.Caller(memory, r, after)
		switch {
		case err == process.ErrOutermost:
			return all, nil
		case err != nil:
			if len(all) == 1 && !after {
				if rest, ok := w.foreign(memory, r, inLua); ok {
					return append(all, rest...), nil
				}
			}
			_, known := w.Mapped(r.RIP)
			w.unmapped = w.unmapped || !known
			return all, err
		}
		r, after = next, true
	}
	return all, fmt.Errorf("more than %d C frames", maxC)
}

// Outward follows the C frames that called Lua, from the registers on. Where they lead into Lua again,
// a C function that Lua had called has called back, as string.gsub does: it stands among Lua's frames,
// which have been walked already, so only those count that called Lua in the first place.
func (w *Worker) Outward(memory process.Memory, r process.Registers) ([]process.Registers, error) {
	const most = 256 // C functions that call back, and coroutines; LuaJIT's limit is 200 C levels
	for range most {
		all, err := w.Unwind(memory, r, true, true)
		if err != nil || len(all) == 0 {
			return all, err
		}
		if r, err = w.Caller(memory, all[len(all)-1], true); err != nil || !w.VM.Asm.Contains(r.RIP) {
			return all, nil // the outermost, or a trace, whose frame has no rule
		}
		for n := 0; n < most && w.VM.Asm.Contains(r.RIP); n++ {
			if r, err = w.Caller(memory, r, true); err != nil {
				return all, err
			}
		}
	}
	return nil, fmt.Errorf("more than %d C functions that call back", most)
}

// runsLua reports whether machine code is the interpreter's or a trace's, which is of no file.
func (w *Worker) runsLua(address uint64) bool {
	if w.VM.Asm.Contains(address) {
		return true
	}
	m, ok := w.Mapped(address)
	w.unmapped = w.unmapped || !ok
	return !ok || m.Path == ""
}

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
		if rest, err := w.Unwind(memory, caller, true, inLua); err == nil {
			return rest, true
		}
	}
	return nil, false
}

// indirectCall reports whether an address lies behind an instruction of a file that calls by a register or by memory.
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
