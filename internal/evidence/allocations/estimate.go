package allocations

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/evidence/collector"
	"github.com/moonlap/moonlap/internal/sample"
)

// estimate sums up windows. What is allocated in a window is counted. For the rest of the time there are LuaJIT's books, which
// the probe does not disturb, but which leave out what a program gives back itself (see Ledger); so the rest has as many bytes
// for each of the books' as the windows have, each of which counts as often as it stands for others.
func (r *Result) estimate(windows []window, whole collector.Ledger) {
	var in collector.Ledger
	var bytes, blocks float64
	rest := whole
	for _, w := range windows {
		r.Probed += w.length()
		r.Inside += w.inside
		r.Used += w.used
		r.Counted += w.Bytes
		r.Blocks += w.Blocks
		rest = rest.Minus(w.books)
		in = in.And(w.books, w.times())
		bytes += w.times() * float64(w.Bytes)
		blocks += w.times() * float64(w.Blocks)
	}
	r.Windows = len(windows)
	booked := in.BytesAt(in)
	if booked <= 0 || bytes == 0 { // in what windows there were, nothing was allocated, or as much given back
		booked, bytes, blocks = 1, 1, 0
	}
	each := bytes / booked // of the books
	var variance float64   // of a ratio; what is seen whole has none
	for _, w := range windows {
		k := w.times()
		off := k * (float64(w.Bytes) - each*w.books.BytesAt(in))
		variance += (1 - 1/k) * off * off
	}
	outside, guessed := rest.Bytes()
	outside = max(0, outside)
	const normal = 1.96
	n := float64(len(windows))
	off := normal*math.Sqrt(variance*n/max(1, n-1))*outside/booked + each*guessed
	r.Bytes = float64(r.Counted) + each*outside
	r.Objects = float64(r.Blocks) + blocks/booked*outside
	r.Low, r.High = max(float64(r.Counted), r.Bytes-off), r.Bytes+off
}

// A taken is a sample, and what Lua allocated at it.
type taken struct {
	sample.Sample
	allocation
}

// weigh tells for how much of the whole time each sample stands: its bytes and objects are what the windows have counted, split
// by the samples in them. Those outside of windows are left out.
func (r *Result) weigh(all []taken, windows []window) (weighed []taken) {
	var bytes, objects float64
	for _, t := range all {
		i, found := slices.BinarySearchFunc(windows, t.Time, func(w window, at time.Duration) int { return cmp.Compare(w.from, at) })
		if !found {
			i--
		}
		if i < 0 || t.Time > windows[i].to {
			continue
		}
		times := windows[i].times() * t.Stands()
		t.Bytes = times * float64(t.Growth)
		if !t.Grew {
			t.Objects = times
		}
		bytes += t.Bytes
		objects += t.Objects
		weighed = append(weighed, t)
	}
	for i := range weighed {
		t := &weighed[i]
		t.Bytes *= r.Bytes / bytes
		if objects > 0 {
			t.Objects *= r.Objects / objects
		}
	}
	return weighed
}
