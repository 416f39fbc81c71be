package sample

import (
	ngx "github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/process"
)

// A locks knows which zones of shared memory there are, and where nginx waits for their locks.
type locks struct {
	wait  process.Interval // code of ngx_shmtx_lock, from its second instruction on: at the first, a probe of --locks traps
	code  []byte           // the same, as it is in the file
	zones []ngx.Zone
	tries int // to read the zones
}

// mostTries is how often the zones are read anew where they made no sense: other workers change them meanwhile.
const mostTries = 20

// find reads what does not change while the worker lives.
func (k *locks) find(w *Worker) {
	if len(k.zones) > 0 || k.tries == mostTries || w.Nginx == nil {
		return
	}
	k.tries++
	const function = "ngx_shmtx_lock"
	if program, err := w.FindObject(function); err == nil {
		code, from, _ := program.Code(function)
		first, _ := probe.CheapAtEntry(function, code)
		const push = 2 // bytes, at most; the breakpoint in its place has one
		skip := min(first+push, uint64(len(code)))
		k.code = code[skip:]
		k.wait = process.Interval{From: from + skip, To: from + uint64(len(code))}
		k.zones, _ = w.Nginx.Zones() // without their names there is ngx.OtherLock
	}
}

// of names the zone whose lock C frames, innermost first, wait for; "" where they wait for none. The function is given
// the lock's address, which lies in its zone, in RDI, and keeps it in a register that is saved by whom it calls: but in its
// first instructions and its last ones, where that register is its caller's.
func (k *locks) of(frames []process.Registers) string {
	for i, r := range frames {
		if !k.wait.Contains(r.RIP) {
			continue
		}
		addresses := []uint64{r.RBX, r.RBP, r.R12, r.R13, r.R14, r.R15}
		if i == 0 {
			addresses = append(addresses, r.RDI)
		}
		for _, address := range addresses {
			if zone := ngx.LockName(k.zones, address); zone != ngx.OtherLock {
				return zone
			}
		}
		if i == 0 && returns(k.code[r.RIP-k.wait.From:]) { // it has the lock, and has called others meanwhile
			return ""
		}
		return ngx.OtherLock
	}
	return ""
}

// returns reports whether code restores registers, and returns.
func returns(code []byte) bool {
	const wide, pop, popLast, ret = 0x41, 0x58, 0x5f, 0xc3
	for len(code) > 0 {
		if code[0] == wide && len(code) > 1 { // r8 to r15
			code = code[1:]
		}
		if code[0] < pop || code[0] > popLast {
			return code[0] == ret
		}
		code = code[1:]
	}
	return false
}
