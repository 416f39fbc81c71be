package probe

import "encoding/binary"

// restore puts the thread back to where it would be without probes, of whichever program: b is struct returns of returns.h. The
// return addresses of functions whose return is probed come back into the copy of the stack. The kernel may not have noticed yet
// that an error of Lua's has jumped over some of these functions, so what does not hold the trampoline's address any more
// stays as it is.
func (m *Snapshot) restore(b []byte) {
	const head, each, slot = 24, 16, 128 // bytes; a slot is as long as the trampoline or the copy of an instruction can be
	if len(b) < head {
		return
	}
	le := binary.LittleEndian
	trampoline, copied, at := le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:])
	if trampoline == 0 {
		return
	}
	r := &m.Registers
	returned := r.RIP-trampoline < slot // to the trampoline
	if d := r.RIP - copied; d < slot && !returned {
		r.RIP = at + d
	}
	for b = b[head:]; len(b) >= each; b = b[each:] {
		place, address := le.Uint64(b), le.Uint64(b[8:])
		if returned { // the innermost one's caller goes on
			r.RIP, r.RSP, returned = address, place+8, false
			continue
		}
		for _, c := range m.chunks {
			at := place - c.address
			if n := uint64(len(c.bytes)); at < n && n-at >= 8 && le.Uint64(c.bytes[at:]) == trampoline {
				le.PutUint64(c.bytes[at:], address)
			}
		}
	}
}
