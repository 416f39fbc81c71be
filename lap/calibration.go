package lap

import "math"

// Sizes of a calibration: some 3 ms in all. The blocks are short, so that among many
// some are not interrupted; the groups tell how well their minimum repeats.
const (
	calibrationGroups = 4
	calibrationBlocks = 12
	calibrationLaps   = 250
)

// The bodies of a calibration, in links of [chain]: a call alone, of about 1 ns, and
// more than a reading of the clock takes.
const (
	shortBody = 0
	longBody  = 16
)

// A calibration is the cost of timing a lap, in the clock's units.
//
// A processor does several things at once, so that this is not one number: a part of
// the clock's reading hides behind a body that waits for its own results, and little
// behind a short one. The cost is the middle of these two, and pm reaches both.
type calibration struct{ cost, pm float64 }

// calibrate takes the mean time of N laps around a chain of N links, and
// that of the chain without laps.
func calibrate(timed, alone func(links, laps int) float64) calibration {
	added := func(links int) calibration {
		with := lowest(func(laps int) float64 { return timed(links, laps) })
		without := lowest(func(laps int) float64 { return alone(links, laps) })
		return calibration{with.cost - without.cost, with.pm + without.pm}
	}
	short, long := added(shortBody), added(longBody)
	return calibration{
		cost: (short.cost + long.cost) / 2,
		pm:   math.Abs(short.cost-long.cost)/2 + max(short.pm, long.pm),
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
func chain(links int, x uint64) uint64 {
	for range links {
		x = x*0x9E3779B97F4A7C15 + 1
	}
	return x
}

// chainAlone is the mean of N chains, in units of the clock that read reads.
func chainAlone(read func() int64) func(links, laps int) float64 {
	return func(links, laps int) float64 {
		var x uint64
		start := read()
		for range laps {
			x = chain(links, x)
		}
		return float64(read()-start) / float64(laps)
	}
}
