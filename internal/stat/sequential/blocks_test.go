package sequential

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/lap"
	"pgregory.net/rapid"
)

func TestTally(t *testing.T) {
	h, err := lap.NewHistogramRange(64, time.Hour, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		h.Record(time.Duration(1000 * (i + 1)))
	}
	tally := NewTally(h)
	for x, want := range map[float64]float64{0: 0, 500e3: 500, 2e6: 1000, 64: 0} {
		if got := tally.upTo(x); math.Abs(got-want) > 2 {
			t.Errorf("up to %v: %v, want about %v", x, got, want)
		}
	}
	if got := mergeTallies([]Tally{tally, tally}); got.count() != 2000 || math.Abs(got.upTo(500e3)-1000) > 4 {
		t.Errorf("two of them together count %v, %v up to 0.5 ms", got.count(), got.upTo(500e3))
	}
	if got := mergeTallies(nil); got.count() != 0 {
		t.Errorf("none counts %v", got.count())
	}
}

// TestBlocksSeeStalls: a p99 that rare stalls of one side make is seen, though the usual block has none.
func TestBlocksSeeStalls(t *testing.T) {
	m := &fakeMachine{rng: rand.New(rand.NewPCG(1, 1)), rate: 1000}
	blocks := m.blocks(60, 0)
	m.stalls = 0.5
	for i := range blocks {
		blocks[i].B = m.half(0)
	}
	b := NewBlocks(DefaultComparing(), 1, "p99")
	b.Look(blocks, true)
	if b.Now.Verdict != record.Slower || b.Now.Ratio.Estimate < 2 {
		t.Errorf("p99 of a side that stalls: %+v", b.Now)
	}
	b = NewBlocks(DefaultComparing(), 1, "p50")
	b.Look(blocks, true)
	if b.Now.Verdict == record.Slower && b.Now.Ratio.Low > 1.05 {
		t.Errorf("p50 of a side that stalls: %+v", b.Now)
	}
}

func TestBlocksWithNothing(t *testing.T) {
	for _, metric := range []string{MetricRate, MetricCPU, MetricMean, "p50"} {
		for _, blocks := range [][]Block{nil, make([]Block, 3), make([]Block, 50)} {
			b := NewBlocks(DefaultComparing(), 1, metric)
			b.Look(blocks, true)
			if b.Now.Verdict != record.Undecided {
				t.Errorf("%s of %d empty blocks: %s", metric, len(blocks), b.Now.Verdict)
			}
		}
	}
}

// TestSignChance: what is counted out and the normal distribution agree, and a chance is one.
func TestSignChance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Float64Range(-1, 1), 0, 40).Draw(t, "residuals")
		up, down := signChance(list, 1), signChance(list, -1)
		if up < 0 || up > 1 || down < 0 || down > 1 || up+down < 1-1e-9 {
			t.Fatalf("chances %v and %v", up, down)
		}
	})
	if got := signChance([]float64{1, 1, 1, 1, 1, 1, 1, 1}, 1); math.Abs(got-1.0/256) > 1e-12 {
		t.Errorf("eight of eight: %v", got)
	}
}

func TestKnownMetric(t *testing.T) {
	for name, want := range map[string]bool{"rate": true, "cpu": true, "p99.9": true, "p0": false, "p100": false, "pp": false, "max": false} {
		if KnownMetric(name) != want {
			t.Errorf("%s: known is %v", name, !want)
		}
	}
}
