package sequential

import (
	"math"
	"math/rand/v2"
	"testing"
)

// beside is a machine with a neighbour who comes for some processes, and slows each of them by up to half; yardsticks tell
// of nine in ten of these, and of one in fifty that was not slowed. With shared false the cases suffer, and yardsticks not.
type beside struct {
	rng  *rand.Rand
	busy float64 // share of the processes
	here bool
}

func (m *beside) process() (ns float64, disturbed bool) {
	if m.rng.Float64() < 0.15 { // it stays for seven processes or so
		m.here = m.rng.Float64() < m.busy
	}
	ns = 0.01 * m.rng.NormFloat64()
	disturbed = m.rng.Float64() < 0.02
	if m.here {
		ns += math.Log1p(0.5 * m.rng.Float64())
		disturbed = m.rng.Float64() < 0.9
	}
	return ns, disturbed
}

// verdictAfter is after how many pairs a comparison tells a difference, and whether it does within most.
func (m *beside) verdictAfter(effect float64, weight, most int) (pairs int, differs bool) {
	return verdictAfter(m.process, m.rng, effect, weight, most)
}

// verdictAfter is that of processes, given as logarithms one after the other. Of a pair it is random which is A.
func verdictAfter(process func() (ns float64, disturbed bool), rng *rand.Rand, effect float64, weight, most int) (pairs int, differs bool) {
	var list []pair
	l := looksFor(0.05)
	for n := 1; n <= most; n++ {
		a, slowA := process()
		b, slowB := process()
		if rng.IntN(2) == 1 {
			a, b = b, a
		}
		p := pairAt(a, b+math.Log1p(effect))
		if !slowA && !slowB {
			p.weight = weight
		}
		list = append(list, p)
		tail := l.tail(n, n == most)
		if n < most && !isLook(n) || math.Ldexp(1, -n) > tail {
			continue
		}
		if chanceOf(list, 0, 1) <= tail || chanceOf(list, 0, -1) <= tail {
			return n, true
		}
	}
	return most, false
}

// TestQuietPairs: pairs of quiet moments weigh more, so that a verdict takes fewer processes beside a neighbour. Equal sides
// are called different no more often.
func TestQuietPairs(t *testing.T) {
	t.Parallel()
	const most = 60
	runs := runsOf(60)
	for _, busy := range []float64{0.3, 0.6} {
		for _, effect := range []float64{0.02, 0.05} {
			var took, found [2]float64
			for weigh := range 2 {
				for run := range runs {
					m := &beside{rng: rand.New(rand.NewPCG(uint64(run), 7)), busy: busy}
					pairs, ok := m.verdictAfter(effect, 1+weigh*(quietWeight-1), most)
					took[weigh] += float64(pairs) / float64(runs)
					if ok {
						found[weigh] += 1 / float64(runs)
					}
				}
			}
			t.Logf("neighbour beside %.0f %% of the processes, %.0f %% slower: %.1f pairs and %.2f found, unweighted %.1f and %.2f",
				100*busy, 100*effect, took[1], found[1], took[0], found[0])
			if took[1] > took[0]*1.02 || found[1] < found[0]-0.02 {
				t.Errorf("weights make it worse")
			}
		}
		alarms, equal := 0, 5*runs
		for run := range equal {
			m := &beside{rng: rand.New(rand.NewPCG(uint64(run), 9)), busy: busy}
			if _, ok := m.verdictAfter(0, quietWeight, most); ok {
				alarms++
			}
		}
		rate := float64(alarms) / float64(equal)
		t.Logf("equal sides: %.1f %% false alarms", 100*rate)
		if rate > 0.05+3*math.Sqrt(0.05*0.95/float64(equal)) { // three standard errors of the simulation
			t.Errorf("%d alarms of %d", alarms, equal)
		}
	}
}
