package lap

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// simulation is a run of a sampling on made-up laps and a clock of coarse steps.
type simulation struct {
	body  func(*rand.Rand) float64
	step  float64
	shift float64 // of laps without fences from those with
}

func (m simulation) run(random *rand.Rand, pairs int64) *sampling {
	const fencedCost = 70
	s := &sampling{}
	s.reset()
	now, fenced, laps := 1e6*random.Float64(), false, int64(recentLaps)
	read := func() int64 { return int64(math.Floor(now/m.step) * m.step) }
	for s.seen < pairs {
		start := read()
		for range blockLaps {
			now += m.body(random) + fencedCost
			if !fenced {
				now += m.shift
			}
		}
		fenced = s.take(laps, read()-start, fenced)
		laps = s.turn
		now += 1000 * random.Float64()
	}
	return s
}

var bodies = map[string]func(*rand.Rand) float64{
	"constant": func(*rand.Rand) float64 { return 10 },
	"skewed":   func(r *rand.Rand) float64 { return 5 + 40*r.ExpFloat64() },
	"bimodal":  func(r *rand.Rand) float64 { return 5 + 200*float64(r.IntN(2)) },
	"rarely slow": func(r *rand.Rand) float64 {
		if r.IntN(100) == 0 {
			return 5000
		}
		return 10
	},
}

// The interval holds the shift as often as it says, and the estimate leans to no side,
// whatever the bodies and the clock; where laps of both kinds agree, so does the interval
// with 0. Seeds are fixed: the test can't be unlucky.
func TestShiftIsFound(t *testing.T) {
	const runs = 400
	for name, body := range bodies {
		for _, step := range []float64{1, 26} {
			for _, shift := range []float64{0, -14, -50.3} {
				for _, pairs := range []int64{fewShifts, 30, keptShifts} {
					random := rand.New(rand.NewPCG(uint64(pairs), uint64(step*100+shift)))
					// What leaving out the ends costs where differences are few steps of the clock.
					rest := step / blockLaps / 10
					held, errors, widths := 0, 0.0, 0.0
					for range runs {
						got := simulation{body, step, shift}.run(random, pairs).shift()
						if math.Abs(got.cost-shift) <= got.pm+rest {
							held++
						}
						errors += got.cost - shift
						widths += got.pm
					}
					if held < runs*9/10 {
						t.Errorf("%s, steps of %v, shift %v, %d pairs: %d of %d intervals hold it",
							name, step, shift, pairs, held, runs)
					}
					// ± is two standard errors of one run.
					if lean, chance := errors/runs, 4*widths/runs/2/math.Sqrt(runs); math.Abs(lean) > chance+rest {
						t.Errorf("%s, steps of %v, shift %v, %d pairs: off by %v on average, %v by chance",
							name, step, shift, pairs, lean, chance)
					}
				}
			}
		}
	}
}

// A body that varies little is told to a fraction of the clock's steps.
func TestShiftIsFinerThanTheClock(t *testing.T) {
	s := simulation{bodies["constant"], 26, -14}.run(rand.New(rand.NewPCG(3, 4)), 100)
	if got := s.shift(); !(got.pm < 2) {
		t.Errorf("±%v in steps of 26", got.pm)
	}
}

func TestCalibrationWhereSamplesAreWorse(t *testing.T) {
	fenced, unfenced := calibration{70, 1}, calibration{50, 8}
	s := &sampling{unfenced: unfenced}
	s.reset()
	if got := s.overhead(fenced); got != unfenced {
		t.Errorf("without samples: %+v", got)
	}
	for i := range fewShifts {
		if got := s.overhead(fenced); got != unfenced {
			t.Errorf("%d samples: %+v", i, got)
		}
		s.keep(-14 + float64(i%2)) // -14 and -13
	}
	if got := s.overhead(fenced); got.cost != 56.5 || got.pm < fenced.pm || got.pm > 2 {
		t.Errorf("%+v", got)
	}
	for i := range 100 {
		s.keep(-14 + 50*float64(i%3-1))
	}
	if got := s.overhead(fenced); got != unfenced {
		t.Errorf("of samples that say nothing: %+v", got)
	}
}

// A long run keeps shifts of all its course.
func TestKeptShiftsAreAFairChoice(t *testing.T) {
	const all = 20 * keptShifts
	s := &sampling{}
	for i := range all {
		s.keep(float64(i))
	}
	early := 0
	for _, v := range s.shifts {
		if v < all/2 {
			early++
		}
	}
	// 256 ± 11 by chance.
	if early < keptShifts/2-100 || early > keptShifts/2+100 {
		t.Errorf("%d of %d are of the first half", early, keptShifts)
	}
}

// Fences come and go for ever, are rare in a long run, and each block lies in the
// readings that are kept.
func TestFencesAreRare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.Int64Range(1000, 1<<22).Draw(t, "laps")
		s := &sampling{extra: 3}
		s.reset()
		laps, fenced, withFences := int64(recentLaps), false, int64(0)
		for laps < length {
			fenced = s.take(laps, 0, fenced)
			distance := s.turn - laps
			if distance <= blockLaps || distance > recentLaps+farthest*3/2 {
				t.Fatalf("%d laps after %d", distance, laps)
			}
			if fenced {
				withFences += distance
				if distance >= recentLaps {
					t.Fatalf("%d laps with fences", distance)
				}
			}
			laps = s.turn
		}
		// The distance grows from a half of the laps so far: logarithmically many at first.
		most := 12 * (8*math.Log2(float64(length)) + float64(length)/(farthest/2))
		if float64(withFences) > most || s.removed != 3*withFences {
			t.Fatalf("%d of %d laps with fences, %d removed", withFences, length, s.removed)
		}
	})
}
