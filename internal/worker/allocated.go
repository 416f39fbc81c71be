package worker

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// dearer: what a trap costs is measured in a loop that does nothing else. In programs it was 1.2 to 1.3 times that, see
// benchmarks/probe/README.md. It counts for the budget alone.
const dearer = 1.2

// estimate sums up windows. What is allocated in a window is counted. For the rest of the time there are LuaJIT's books, which
// the probe does not disturb, but which leave out what a program gives back itself (see Ledger); so the rest has as many bytes
// for each of the books' as the windows have, each of which counts as often as it stands for others.
func (a *Allocations) estimate(windows []allocationWindow, whole Ledger) {
	var in Ledger
	var bytes, blocks float64
	rest := whole
	for _, w := range windows {
		a.Probed += w.length()
		a.Inside += w.inside
		a.Used += w.used
		a.CountedBytes += w.Bytes
		a.CountedBlocks += w.Blocks
		rest = rest.Minus(w.books)
		in = in.and(w.books, w.times())
		bytes += w.times() * float64(w.Bytes)
		blocks += w.times() * float64(w.Blocks)
	}
	a.Windows = len(windows)
	booked := in.bytes(in)
	if booked <= 0 || bytes == 0 { // in what windows there were, nothing was allocated, or as much given back
		booked, bytes, blocks = 1, 1, 0
	}
	each := bytes / booked // of the books
	var variance float64   // of a ratio; what is seen whole has none
	for _, w := range windows {
		k := w.times()
		off := k * (float64(w.Bytes) - each*w.books.bytes(in))
		variance += (1 - 1/k) * off * off
	}
	outside, guessed := rest.Bytes()
	outside = max(0, outside)
	const normal = 1.96
	n := float64(len(windows))
	off := normal*math.Sqrt(variance*n/max(1, n-1))*outside/booked + each*guessed
	a.Bytes = float64(a.CountedBytes) + each*outside
	a.Blocks = float64(a.CountedBlocks) + blocks/booked*outside
	a.Low, a.High = max(float64(a.CountedBytes), a.Bytes-off), a.Bytes+off
}

// weigh tells for how much of the whole time each sample stands: its bytes and blocks are what the windows have counted, split
// by the samples in them. Those outside of windows are left out.
func (a *Allocations) weigh(samples []Sample, windows []allocationWindow) []Sample {
	var bytes, blocks float64
	samples = slices.DeleteFunc(samples, func(s Sample) bool {
		i, found := slices.BinarySearchFunc(windows, s.Time, func(w allocationWindow, t time.Duration) int { return cmp.Compare(w.from, t) })
		if !found {
			i--
		}
		if i < 0 || s.Time > windows[i].to {
			return true
		}
		times := windows[i].times() * s.Allocation.Stands()
		s.Allocation.Bytes = times * float64(s.Allocation.Growth)
		if !s.Allocation.Grew {
			s.Allocation.Blocks = times
		}
		bytes += s.Allocation.Bytes
		blocks += s.Allocation.Blocks
		return false
	})
	for _, s := range samples {
		s.Allocation.Bytes *= a.Bytes / bytes
		if blocks > 0 {
			s.Allocation.Blocks *= a.Blocks / blocks
		}
	}
	return samples
}
