package sequential

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// bootstrapInterval is what the exchange test is measured against: the percentiles of the ratio over blocks that are drawn again,
// with replacement.
func bootstrapInterval(blocks []Block, metric string, tail float64, rng *rand.Rand) record.Interval {
	const draws = 1000
	shifts, again := make([]float64, draws), make([]Block, len(blocks))
	for i := range shifts {
		for j := range again {
			again[j] = blocks[rng.IntN(len(blocks))]
		}
		shifts[i], _ = shiftOf(again, metric)
	}
	slices.Sort(shifts)
	at := func(share float64) float64 { return shifts[min(draws-1, int(share*draws))] }
	return record.Interval{Low: at(tail), High: at(1 - tail)}
}

// TestBlocksAgainstBootstrap: with few blocks the block bootstrap misses the truth far more often than it claims, and the exchange
// test does not. With many blocks their intervals are equally long. Each side has 1.25 %: 5 % over four metrics. Blocks have drift,
// and a stall of one side now and then.
func TestBlocksAgainstBootstrap(t *testing.T) {
	t.Parallel()
	const slower, alpha = 0.05, 0.05 / 4
	of := func(rng *rand.Rand, n int) []Block {
		blocks, drift := make([]Block, n), 0.0
		half := func(factor float64) Half {
			h := Half{NS: 20e6, Responses: 2000 * math.Exp(-drift-0.03*rng.NormFloat64()) / factor}
			if rng.Float64() < 0.05 {
				h.Responses *= rng.Float64() // it stood still for a part
			}
			return h
		}
		for i := range blocks {
			drift += 0.03 * rng.NormFloat64()
			blocks[i] = Block{A: half(1), B: half(1 + slower)}
		}
		return blocks
	}
	for _, c := range []struct{ blocks, runs int }{{10, runsOf(200)}, {25, runsOf(100)}, {200, runsOf(15)}} {
		missed, missedByBootstrap, longer := 0, 0, 0.0
		for run := range c.runs {
			rng := rand.New(rand.NewPCG(uint64(run), uint64(c.blocks)))
			blocks := of(rng, c.blocks)
			truth := math.Log1p(slower)
			shift, residuals := shiftOf(blocks, MetricRate)
			iv, ok := exchangeInterval(shift, c.blocks, residuals, alpha/2)
			if !ok {
				t.Fatalf("no interval of %d blocks", c.blocks)
			}
			boot := bootstrapInterval(blocks, MetricRate, alpha/2, rng)
			if iv.Low > truth || iv.High < truth {
				missed++
			}
			if boot.Low > truth || boot.High < truth {
				missedByBootstrap++
			}
			longer += (iv.High - iv.Low) / (boot.High - boot.Low) / float64(c.runs)
		}
		own, bootstrap := estimate.Share(missed, c.runs), estimate.Share(missedByBootstrap, c.runs)
		t.Logf("%d blocks, %d runs: the exchange test misses %d (%.3f to %.3f), the bootstrap %d (%.3f to %.3f); intervals are %.2f times as long",
			c.blocks, c.runs, missed, own.Low, own.High, missedByBootstrap, bootstrap.Low, bootstrap.High, longer)
		if own.Low > alpha {
			t.Errorf("%d blocks: the exchange test misses %d of %d", c.blocks, missed, c.runs)
		}
		switch c.blocks {
		case 10:
			if bootstrap.Low < alpha {
				t.Errorf("10 blocks: the bootstrap misses %d of %d, which is not too many: the reason against it is gone", missedByBootstrap, c.runs)
			}
		case 200:
			if longer > 1.1 {
				t.Errorf("200 blocks: intervals of the exchange test are %.2f times as long as the bootstrap's", longer)
			}
		}
	}
}
