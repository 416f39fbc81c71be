package lap

import "math"

// Sizes of a calibration: some 2 ms in all. The blocks are short, so that among many
// some are not interrupted; the groups tell how well their minimum repeats.
const (
	calibrationGroups = 4
	calibrationBlocks = 12
	calibrationLaps   = 250
	calibrationLinks  = 16
)

// A calibration is the cost of timing a lap, in the clock's units.
//
// A processor does several things at once, so that this is not one number: a part of
// the clock's reading hides behind a body that waits for its own results, and none
// behind an empty one. The cost is the middle of these two, and pm reaches both.
type calibration struct{ cost, pm float64 }

// calibrate takes the mean time of so many laps around nothing, of laps around a
// chain of multiplications, and of that chain without laps.
func calibrate(empty, busy, alone func(laps int) float64) calibration {
	e, b, a := lowest(empty), lowest(busy), lowest(alone)
	behind := calibration{b.cost - a.cost, b.pm + a.pm}
	return calibration{
		cost: (e.cost + behind.cost) / 2,
		pm:   math.Abs(e.cost-behind.cost)/2 + max(e.pm, behind.pm),
	}
}

// lowest is the lowest mean of many blocks, and by how much the groups differ in it:
// interruptions only ever add.
func lowest(block func(laps int) float64) calibration {
	best, worst := math.Inf(1), 0.0
	for range calibrationGroups {
		group := math.Inf(1)
		for range calibrationBlocks {
			group = min(group, block(calibrationLaps))
		}
		best = min(best, group)
		worst = max(worst, group)
	}
	return calibration{best, worst - best}
}

// again joins an earlier calibration and a later one: their middle, and an
// uncertainty that covers both.
func (c calibration) again(later calibration) calibration {
	low := min(c.cost-c.pm, later.cost-later.pm)
	high := max(c.cost+c.pm, later.cost+later.pm)
	return calibration{(c.cost + later.cost) / 2, (high - low) / 2}
}

// chain takes about 1 ns a link, each of which waits for the one before.
//
//go:noinline
func chain(x uint64) uint64 {
	for range calibrationLinks {
		x = x*0x9E3779B97F4A7C15 + 1
	}
	return x
}

// chainAlone is the mean of so many chains, in units of the clock that read reads.
func chainAlone(read func() int64) func(laps int) float64 {
	var x uint64
	return func(laps int) float64 {
		start := read()
		for range laps {
			x = chain(x)
		}
		return float64(read()-start) / float64(laps)
	}
}
