package lap

import "math"

// Sizes of a calibration: some 2 ms in all. The blocks are short, so that among many
// some are not interrupted; the groups tell how well their minimum repeats.
const (
	calibrationGroups = 8
	calibrationBlocks = 16
	calibrationLaps   = 250
)

// A calibration is the cost of timing nothing, in the clock's units: the lowest mean
// of many short blocks, and by how much the groups of them differ.
type calibration struct{ cost, pm float64 }

// calibrate asks block for the mean of so many empty laps, many times.
func calibrate(block func(laps int) float64) calibration {
	c := calibration{cost: math.Inf(1)}
	worst := 0.0
	for range calibrationGroups {
		lowest := math.Inf(1)
		for range calibrationBlocks {
			lowest = min(lowest, block(calibrationLaps))
		}
		c.cost = min(c.cost, lowest)
		worst = max(worst, lowest)
	}
	c.pm = worst - c.cost
	return c
}

// again is both calibrations as one: the lower cost, and an uncertainty that covers
// both.
func (c calibration) again(later calibration) calibration {
	low := min(c.cost, later.cost)
	return calibration{cost: low, pm: max(c.cost+c.pm, later.cost+later.pm) - low}
}
