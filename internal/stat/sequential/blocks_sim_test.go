package sequential

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/lap"
)

// A fake server for simulations: what a side does in a block of 2 slices of 100 ms, as the machine is then.
type fakeMachine struct {
	rng     *rand.Rand
	drift   float64 // of the machine's speed, on the logarithm
	stalls  float64 // share of blocks in which one side, whichever it is, meets a stall
	rate    float64 // answers a second
	connect float64
}

func (m *fakeMachine) half(slowdown float64) Half {
	level := math.Log1p(slowdown) + m.drift + 0.02*m.rng.NormFloat64()
	h := Half{NS: 200e6}
	h.Responses = math.Round(m.rate * 0.2 / math.Exp(level))
	h.CPUNS = h.Responses * 10e3 * math.Exp(math.Log1p(slowdown)+0.01*m.rng.NormFloat64())
	values, _ := lap.NewHistogramRange(64, time.Hour, 3)
	stalled := m.rng.Float64() < m.stalls
	for i := range int(h.Responses) {
		ns := 300e3 * math.Exp(level+0.3*m.rng.NormFloat64())
		if stalled && i%50 == 0 {
			ns += 20e6 * m.rng.Float64()
		}
		h.SumNS += ns
		values.Record(time.Duration(ns))
	}
	h.Latency = NewTally(values)
	return h
}

func (m *fakeMachine) blocks(n int, slowdown float64) []Block {
	blocks := make([]Block, n)
	for i := range blocks {
		m.drift += 0.03 * m.rng.NormFloat64()
		blocks[i] = Block{A: m.half(0), B: m.half(slowdown)}
	}
	return blocks
}

var simulatedMetrics = []string{MetricRate, MetricCPU, "p50", "p99"}

// runsOf is how many runs a simulation makes: more where somebody waits for it.
func runsOf(few int) int {
	if os.Getenv("MOONLAP_TEST_LONG") != "" {
		return 20 * few
	}
	return few
}

// TestBlocksFalseAlarms: of equal sides, under drift and stalls, with looks after every block, at most 5 % of runs call
// any difference by any metric. The bound is what 60 runs of a true 5 % exceed once in ten thousand times.
func TestBlocksFalseAlarms(t *testing.T) {
	t.Parallel()
	runs, alarms := runsOf(60), 0
	for run := range runs {
		m := &fakeMachine{rng: rand.New(rand.NewPCG(uint64(run), 1)), stalls: 0.2, rate: 400}
		blocks := m.blocks(25, 0)
		if slices.ContainsFunc(judged(blocks), func(c record.Comparison) bool {
			return c.Verdict == record.Slower || c.Verdict == record.Faster
		}) {
			alarms++
		}
	}
	share := estimate.Share(alarms, runs)
	t.Logf("%d of %d runs of equal sides call a difference: %.3f to %.3f", alarms, runs, share.Low, share.High)
	most := 0.05*float64(runs) + 3.8*math.Sqrt(float64(runs)*0.05*0.95) + 1
	if float64(alarms) > most {
		t.Errorf("%d of %d runs of equal sides call a difference; at most %.0f may", alarms, runs, most)
	}
}

// TestBlocksFind: 2 % more CPU a request is found within 75 blocks, which are 30 s.
func TestBlocksFind(t *testing.T) {
	t.Parallel()
	runs, found := runsOf(20), 0
	for run := range runs {
		m := &fakeMachine{rng: rand.New(rand.NewPCG(uint64(run), 2)), stalls: 0.2, rate: 300}
		b := NewBlocks(DefaultComparing(), len(simulatedMetrics), MetricCPU)
		b.Look(m.blocks(75, 0.02), true)
		if b.Now.Verdict == record.Slower {
			found++
		}
	}
	if found < runs*9/10 {
		t.Errorf("2 %% is found in %d of %d runs", found, runs)
	}
}

// TestBlocksCover: the interval of every metric misses the truth in at most 5 % of runs.
func TestBlocksCover(t *testing.T) {
	t.Parallel()
	const slower = 0.1
	for _, metric := range simulatedMetrics {
		runs, missed := runsOf(30), 0
		for run := range runs {
			m := &fakeMachine{rng: rand.New(rand.NewPCG(uint64(run), 3)), rate: 500}
			rule := DefaultComparing()
			rule.MinEffect = 1e-6 // nothing is decided early
			b := NewBlocks(rule, 1, metric)
			b.look(m.blocks(20, slower), true)
			if r := b.Now.Ratio; r.Low > 1+slower || r.High < 1+slower {
				missed++
			}
		}
		if missed > 2+runs/8 {
			t.Errorf("%s: %d of %d intervals miss the truth", metric, missed, runs)
		}
	}
}

// TestBlocksBesideANeighbour: a neighbour slows three of five blocks by up to half, now this side more, now that one. With
// disturbed blocks weighed less, equal sides are called different in at most 5 % of runs, and 5 % more time an answer takes
// fewer blocks.
func TestBlocksBesideANeighbour(t *testing.T) {
	t.Parallel()
	runs, alarms := runsOf(30), 0
	var took [2]float64 // blocks until a verdict: without yardsticks, and with them
	for run := range runs {
		for knows := range 2 {
			m := &fakeMachine{rng: rand.New(rand.NewPCG(uint64(run), 4)), rate: 50}
			b := NewBlocks(DefaultComparing(), 1, MetricRate)
			b.Look(m.beside(120, 0.05, knows == 1), true)
			took[knows] += float64(b.Now.Pairs) / float64(runs)
		}
		m := &fakeMachine{rng: rand.New(rand.NewPCG(uint64(run), 5)), rate: 50}
		b := NewBlocks(DefaultComparing(), 1, MetricRate)
		b.Look(m.beside(40, 0, true), true)
		if b.Now.Verdict == record.Slower || b.Now.Verdict == record.Faster {
			alarms++
		}
	}
	t.Logf("%d false alarms of %d; 5 %% takes %.1f blocks, without yardsticks %.1f", alarms, runs, took[1], took[0])
	if most := 0.05*float64(runs) + 3.8*math.Sqrt(float64(runs)*0.05*0.95) + 1; float64(alarms) > most {
		t.Errorf("%d of %d runs of equal sides call a difference", alarms, runs)
	}
	if took[1] > took[0] {
		t.Errorf("weights make it worse: %.1f blocks in place of %.1f", took[1], took[0])
	}
}

// beside makes blocks of which a neighbour slows three of five.
func (m *fakeMachine) beside(n int, slowdown float64, known bool) []Block {
	blocks := make([]Block, n)
	for i := range blocks {
		neighbour := func() float64 { return 0 }
		if m.rng.Float64() < 0.6 {
			blocks[i].Disturbed = known
			neighbour = func() float64 { return 0.5 * m.rng.Float64() }
		}
		disturbed := blocks[i].Disturbed
		blocks[i] = Block{A: m.half(neighbour()), B: m.half((1+slowdown)*(1+neighbour()) - 1), Disturbed: disturbed}
	}
	return blocks
}

func judged(blocks []Block) []record.Comparison {
	var list []record.Comparison
	for _, metric := range simulatedMetrics {
		b := NewBlocks(DefaultComparing(), len(simulatedMetrics), metric)
		b.Look(blocks, true)
		list = append(list, b.Now)
	}
	return list
}
