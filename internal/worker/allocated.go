package worker

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// What a trap costs is measured in a loop that does nothing else. In programs it was 1.1 to 1.4 times that, see
// benchmarks/probe/allocations.lua: their memory and their branches are not as well known to the processor afterwards. So it is
// taken to be dearer times that, and to be known to lie between two multiples of the product.
const dearer, cheapest, dearest = 1.2, 1 / dearer, 1.4 / dearer

// estimate sums up windows. What is allocated goes with the CPU time that a worker uses for itself, without the probe's: so its
// amount in all the windows, each as often as it stands for others, is to that in the whole time as these CPU times are. The
// ratio is right for a worker that idles, whose requests come when they come, and for one that always has more to do, which the
// probe slows down. used is the worker's CPU time in the whole run. It returns how much of the whole time stands for a window's.
func (a *Allocations) estimate(windows []allocationWindow, used time.Duration) (scale float64) {
	for _, w := range windows {
		a.Probed += w.length()
		a.Inside += w.inside
		a.Used += w.used
		a.CountedBytes += w.Bytes
		a.CountedBlocks += w.Blocks
	}
	a.Windows = len(windows)
	at := func(times float64) (scale, bytes, blocks, off float64) {
		var own, all, variance float64
		for _, w := range windows {
			k := w.times()
			own += k * w.own(times)
			all += k * float64(w.used)
			bytes += k * float64(w.Bytes)
			blocks += k * float64(w.Blocks)
		}
		if all == 0 {
			return 0, 0, 0, 0
		}
		const least = 50 // a part is the worker's own, however dear the traps were
		own = max(own, all/least)
		for _, w := range windows { // of a ratio; what is seen whole has none
			k := w.times()
			off := k * (float64(w.Bytes) - bytes/own*w.own(times))
			variance += (1 - 1/k) * off * off
		}
		n := float64(len(windows))
		scale = max(float64(used)-times*float64(a.Cost), float64(used)/least) / own
		return scale, scale * bytes, scale * blocks, scale * math.Sqrt(variance*n/max(1, n-1))
	}
	const normal = 1.96
	_, low, _, lowOff := at(cheapest)
	_, high, _, highOff := at(dearest)
	var off float64
	scale, a.Bytes, a.Blocks, off = at(1)
	a.Low = max(0, min(low, a.Bytes)-normal*max(lowOff, off))
	a.High = max(high, a.Bytes) + normal*max(highOff, off)
	return scale
}

// own is the CPU time of a window in ns that was the worker's, if the probe took so many times of what is taken for its cost.
func (a *allocationWindow) own(times float64) float64 {
	return float64(a.used) - times*float64(a.inside)
}

// weigh tells for how much of the whole time each sample stands: its bytes and blocks are what the windows have counted, split
// by the samples in them. Those outside of windows are left out.
func (a *Allocations) weigh(samples []Sample, windows []allocationWindow, scale float64) []Sample {
	var bytes, blocks float64
	samples = slices.DeleteFunc(samples, func(s Sample) bool {
		i, found := slices.BinarySearchFunc(windows, s.Time, func(w allocationWindow, t time.Duration) int { return cmp.Compare(w.from, t) })
		if !found {
			i--
		}
		if i < 0 || s.Time > windows[i].to {
			return true
		}
		times := windows[i].times() * scale * s.Allocation.Stands()
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
