package lap

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A sampling finds what timing adds to a lap without fences. That depends on the body,
// so that no calibration knows it: the processor hides the reading behind one body and
// not behind another. With fences it is the same for all bodies, and known. So a few laps
// have fences, and the shift between laps without and with is the difference in cost.
type sampling struct {
	unfenced calibration // of laps without fences, for want of samples
	extra    int64       // what fences add to a lap, about: taken off those that have them
	removed  int64       // the extra of all laps

	turn    int64   // the next laps have fences, or no longer, after N
	without float64 // mean of the last laps without fences
	shifts  [keptShifts]float64
	seen    int64
}

const (
	// So many laps are timed as one, once without fences and once with, soon after each
	// other: the same kind of bodies, and a clock of coarse steps counts little.
	blockLaps = 8
	// Laps with fences before these, for the processor to be in step.
	settlingLaps = 2

	keptShifts = 512
	fewShifts  = 10 // of less, none could be left out

	farthest = 16384 // laps from one block to the next, on average
)

func (s *sampling) reset() {
	s.removed, s.seen, s.turn = 0, 0, math.MaxInt64
}

// take ends the laps without fences or with, of whose last blockLaps it is told the sum,
// and returns whether the next ones have fences.
func (s *sampling) take(laps, sum int64, fenced bool) bool {
	mean := float64(sum) / blockLaps
	if !fenced {
		s.without = mean
		s.turn = laps + settlingLaps + blockLaps
		s.removed += (settlingLaps + blockLaps) * s.extra
		return true
	}
	s.keep(s.without - mean)
	// Irregularly, lest it keep step with the bodies; more and more rarely.
	distance := min(laps/3, farthest)
	s.turn = laps + recentLaps + distance/2 + rand.Int64N(distance)
	return false
}

// keep keeps all shifts, or a random choice of all where they are too many.
func (s *sampling) keep(shift float64) {
	at := s.seen
	if at >= keptShifts {
		at = rand.Int64N(at + 1)
	}
	if at < keptShifts {
		s.shifts[at] = shift
	}
	s.seen++
}

// shift is the mean without the tenth at either end, and ± its 95 % interval, infinite for
// too few. Both laps of a pair come from the same bodies, so that the differences lie
// symmetrically about the shift, however skewed the bodies are. A median would know it to
// a step of the clock only.
func (s *sampling) shift() calibration {
	n := int(min(s.seen, keptShifts))
	if n < fewShifts {
		return calibration{pm: math.Inf(1)}
	}
	sorted := slices.Sorted(slices.Values(s.shifts[:n]))
	cut := n / 10
	least, most := sorted[cut], sorted[n-1-cut]
	sum, all, squares := 0.0, 0.0, 0.0
	for i, v := range sorted {
		if i >= cut && i < n-cut {
			sum += v
		}
		v = min(max(v, least), most) - least // winsorized
		all += v
		squares += v * v
	}
	kept := float64(n - 2*cut)
	// Tukey and McLaughlin, 1963: the error follows from the winsorized variance, by
	// Student's t; 1.96 + 2.4/degrees is t to 0.1 from 7 degrees on.
	variance := (squares - all*all/float64(n)) / float64(n-1)
	return calibration{
		cost: sum / kept,
		pm:   (1.96 + 2.4/(kept-1)) * math.Sqrt(variance*float64(n)) / kept,
	}
}

// overhead of a lap without fences, from that of one with them: by the samples, or by
// calibration where that is surer, as it is when bodies differ more than by the shift.
func (s *sampling) overhead(fenced calibration) calibration {
	shift := s.shift()
	if c := (calibration{fenced.cost + shift.cost, fenced.pm + shift.pm}); c.pm < s.unfenced.pm {
		return c
	}
	return s.unfenced
}
