package worker

import (
	ngx "github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/process"
)

// OtherLock is the name of a lock that lies in no zone of shared memory: that of accept(2), say.
const OtherLock = "(a lock of nginx)"

// A locks knows which zones of shared memory there are, and where nginx waits for their locks.
type locks struct {
	wait  process.Interval // code of ngx_shmtx_lock
	zones []ngx.Zone
	read  bool
}

// find reads what does not change while the worker lives.
func (k *locks) find(w *Worker) {
	if k.read || w.Nginx == nil {
		return
	}
	k.read = true
	const function = "ngx_shmtx_lock"
	if program, err := w.FindObject(function); err == nil {
		from, size, _ := program.Symbol(function)
		k.wait = process.Interval{From: from, To: from + size}
		k.zones, _ = w.Nginx.Zones() // without their names there is OtherLock
	}
}

// of names the zone whose lock C frames, innermost first, wait for; "" where they wait for none. The function keeps the
// lock's address, which lies in its zone, in a register that is saved by whom it calls.
func (k *locks) of(frames []process.Registers) string {
	for _, r := range frames {
		if !k.wait.Contains(r.RIP) {
			continue
		}
		for _, address := range []uint64{r.RBX, r.RBP, r.R12, r.R13, r.R14, r.R15} {
			if zone := k.at(address); zone != OtherLock {
				return zone
			}
		}
		return OtherLock
	}
	return ""
}

// at names the zone that a lock lies in.
func (k *locks) at(address uint64) string {
	for _, z := range k.zones {
		if address >= z.Start && address-z.Start < z.Size {
			return z.Name
		}
	}
	return OtherLock
}
