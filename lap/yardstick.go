package lap

import (
	"errors"
	"unsafe"
)

// Yardsticks are fixed pieces of work that tell how fast the machine is at a moment. A neighbour on
// the host slows a virtual machine's core by a third and more, and no counter of the guest shows it;
// it slows these, too. They are for one goroutine at a time.
type Yardsticks struct {
	memory [2 * yardPage]byte
	page   *byte // in memory, where pages begin
}

// A Timing is what the yardsticks took at a moment, in ns. Which kinds there are does not change.
type Timing struct {
	Core  float64 // as many additions at once as the core has units for
	Cache float64 // loads from the first-level cache
}

const (
	yardPage = 4096
	// Turns that are not timed fetch code and data: what the caches held before is not in the time.
	coreUntimed, coreTurns   = 10, 2600
	cacheUntimed, cacheTurns = 1, 150
)

// ErrNoYardsticks is what [NewYardsticks] returns on other processors than x86-64, and where the
// processor's counter may not be trusted.
var ErrNoYardsticks = errors.New("yardsticks take x86-64 and a time-stamp counter that runs at one speed")

// NewYardsticks makes yardsticks. What they touch is a page of memory, one in eight lines of a
// first-level cache of 32 kB.
func NewYardsticks() (*Yardsticks, error) {
	if !yardsticksKnown || !useCounter {
		return nil, ErrNoYardsticks
	}
	y := &Yardsticks{}
	address := uintptr(unsafe.Pointer(&y.memory[0]))
	y.page = &y.memory[(yardPage-address%yardPage)%yardPage]
	return y, nil
}

// Time times each of them once, for 3 µs altogether where nothing disturbs.
func (y *Yardsticks) Time() Timing {
	scale := nsPerTick()
	return Timing{
		Core:  float64(coreTicks(coreUntimed, coreTurns)) * scale,
		Cache: float64(cacheTicks(y.page, cacheUntimed, cacheTurns)) * scale,
	}
}

// Slower is by how much longer a timing took than the best, by the yardstick that suffered most: 0.4 is
// 40 %. quiet says that each is as near its best as in a moment when nothing disturbs.
func (t Timing) Slower(best Timing) (by float64, quiet bool) {
	const coreNear, cacheNear = 0.03, 0.06
	core, cache := t.Core/best.Core-1, t.Cache/best.Cache-1
	return max(0, core, cache), core <= coreNear && cache <= cacheNear
}
