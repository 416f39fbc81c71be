package sequential

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/lap"
)

// A Half is what one side of a block of load did.
type Half struct {
	NS        float64 // that it ran
	Responses float64
	SumNS     float64 // of the latencies
	CPUNS     float64 // of the server; 0: not known
	Latency   Tally
}

// Add adds what the side did in another slice of the block. Latencies are not added: see [NewTally].
func (h *Half) Add(o Half) {
	h.NS += o.NS
	h.Responses += o.Responses
	h.SumNS += o.SumNS
	h.CPUNS += o.CPUNS
}

// A Block is two sides that ran in the same block, in an order that was drawn.
type Block struct {
	A, B Half
	// Disturbed says that something slowed the machine meanwhile, as yardsticks tell: the block weighs less.
	Disturbed bool
}

// times is a half that counts by a weight.
func (h Half) times(weight float64) Half {
	h.NS, h.Responses, h.SumNS, h.CPUNS = h.NS*weight, h.Responses*weight, h.SumNS*weight, h.CPUNS*weight
	below := make([]float64, len(h.Latency.below))
	for i, n := range h.Latency.below {
		below[i] = n * weight
	}
	h.Latency.below = below
	return h
}

// weighed are blocks of which the disturbed ones count less, where not all are. The exchange test is exact for any weights of
// blocks that do not look at what the sides did.
func weighed(blocks []Block) []Block {
	disturbed := func(b Block) bool { return b.Disturbed }
	calm := func(b Block) bool { return !b.Disturbed }
	if !slices.ContainsFunc(blocks, disturbed) || !slices.ContainsFunc(blocks, calm) {
		return blocks
	}
	list := slices.Clone(blocks)
	for i, b := range list {
		if b.Disturbed {
			list[i].A, list[i].B = b.A.times(1.0/quietWeight), b.B.times(1.0/quietWeight)
		}
	}
	return list
}

// A Tally counts values up to any limit.
type Tally struct {
	at    []float64 // ends of buckets, ascending
	below []float64 // values below each
}

// NewTally counts the values of a histogram.
func NewTally(h *lap.Histogram) Tally {
	var t Tally
	seen := 0.0
	for b := range h.Buckets {
		if n := len(t.at); n == 0 || t.at[n-1] < float64(b.Low) {
			t.at, t.below = append(t.at, float64(b.Low)), append(t.below, seen)
		}
		seen += float64(b.Count)
		t.at, t.below = append(t.at, float64(b.High)), append(t.below, seen)
	}
	return t
}

// upTo is how many values are not above x. Within a bucket they lie evenly.
func (t Tally) upTo(x float64) float64 {
	i, _ := slices.BinarySearch(t.at, x)
	switch {
	case i == 0:
		return 0
	case i == len(t.at):
		return t.count()
	}
	share := (x - t.at[i-1]) / (t.at[i] - t.at[i-1])
	return t.below[i-1] + share*(t.below[i]-t.below[i-1])
}

func (t Tally) count() float64 {
	if len(t.below) == 0 {
		return 0
	}
	return t.below[len(t.below)-1]
}

// quantileOf is the value that a share q of what count counts is not above, between low and high.
func quantileOf(q, low, high float64, count func(x float64) (upTo, of float64)) float64 {
	for range 60 {
		middle := (low + high) / 2
		if upTo, of := count(middle); upTo < q*of {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// Metrics of load that sides are compared by; beside these, every quantile as "p50" or "p99.9".
const (
	MetricRate = "rate" // answers a second; its ratio is that of the time an answer takes
	MetricCPU  = "cpu"  // CPU time of the server an answer
	MetricMean = "mean" // latency
)

// QuantileMetric reads a metric such as "p99.9" or "max", as a share of 1.
func QuantileMetric(metric string) (q float64, ok bool) {
	digits, ok := strings.CutPrefix(metric, "p")
	p, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || p <= 0 || p >= 100 {
		return 0, false
	}
	return p / 100, true
}

// KnownMetric reports whether sides can be compared by a metric.
func KnownMetric(metric string) bool {
	_, quantile := QuantileMetric(metric)
	return quantile || slices.Contains([]string{MetricRate, MetricCPU, MetricMean}, metric)
}

// shiftOf is the estimate of the shift from A to B on the logarithm, and the residuals of the exchange test.
func shiftOf(blocks []Block, metric string) (estimate float64, of residuals) {
	if q, ok := QuantileMetric(metric); ok {
		return quantileShift(blocks, q)
	}
	ratio := func(over, under func(Half) float64) (float64, residuals) { return ratioShift(blocks, over, under) }
	responses := func(h Half) float64 { return h.Responses }
	switch metric {
	case MetricRate:
		return ratio(func(h Half) float64 { return h.NS }, responses)
	case MetricCPU:
		return ratio(func(h Half) float64 { return h.CPUNS }, responses)
	}
	return ratio(func(h Half) float64 { return h.SumNS }, responses)
}

// ratioShift is of a ratio of two sums over the run, such as time over answers. A block's residual is by how much
// the side's first sum exceeds what its second would give at the ratio of both sides together.
func ratioShift(blocks []Block, over, under func(Half) float64) (float64, residuals) {
	var a, b struct{ over, under float64 }
	for _, block := range blocks {
		a.over += over(block.A)
		a.under += under(block.A)
		b.over += over(block.B)
		b.under += under(block.B)
	}
	estimate := math.Log(b.over/b.under) - math.Log(a.over/a.under)
	return estimate, func(shift float64) []float64 {
		// The shift is taken off by counting more in the second sum: of slices of equal length that is where sides differ.
		factor := math.Exp(shift)
		pooled := (a.over + b.over) / (a.under + factor*b.under)
		list := make([]float64, len(blocks))
		for i, block := range blocks {
			list[i] = (over(block.B) - pooled*factor*under(block.B)) - (over(block.A) - pooled*under(block.A))
		}
		return list
	}
}

// quantileShift is of a quantile over the whole run. A block's residual is by how many values beyond the quantile
// of both sides together it has more in B than in A, after the shift was taken off B.
func quantileShift(blocks []Block, q float64) (float64, residuals) {
	merged := func(half func(Block) Half) (all Tally) {
		list := make([]Tally, len(blocks))
		for i, b := range blocks {
			list[i] = half(b).Latency
		}
		return mergeTallies(list)
	}
	a, b := merged(func(b Block) Half { return b.A }), merged(func(b Block) Half { return b.B })
	if a.count() == 0 || b.count() == 0 {
		return math.NaN(), nil
	}
	highest := 2 * max(a.at[len(a.at)-1], b.at[len(b.at)-1])
	alone := func(t Tally) float64 {
		return quantileOf(q, 0, highest, func(x float64) (float64, float64) { return t.upTo(x), t.count() })
	}
	estimate := math.Log(alone(b)) - math.Log(alone(a))
	return estimate, func(shift float64) []float64 {
		factor := math.Exp(shift)
		limit := quantileOf(q, 0, highest*max(1, 1/factor), func(x float64) (float64, float64) {
			return a.upTo(x) + b.upTo(x*factor), a.count() + b.count()
		})
		share := (a.upTo(limit) + b.upTo(limit*factor)) / (a.count() + b.count())
		list := make([]float64, len(blocks))
		for i, block := range blocks {
			excess := func(t Tally, limit float64) float64 { return share*t.count() - t.upTo(limit) }
			list[i] = excess(block.B.Latency, limit*factor) - excess(block.A.Latency, limit)
		}
		return list
	}
}

// mergeTallies counts the values of all together, at every end of a bucket of any.
func mergeTallies(list []Tally) Tally {
	steps := map[float64]float64{} // counted at the upper end
	lows := map[float64]bool{}
	for _, t := range list {
		for i := 1; i < len(t.at); i++ {
			if n := t.below[i] - t.below[i-1]; n > 0 {
				steps[t.at[i]] += n
				lows[t.at[i-1]] = true
			}
		}
	}
	var all Tally
	for low := range lows {
		all.at = append(all.at, low)
	}
	for high := range steps {
		all.at = append(all.at, high)
	}
	slices.Sort(all.at)
	all.at = slices.Compact(all.at)
	seen := 0.0
	for _, at := range all.at {
		seen += steps[at]
		all.below = append(all.below, seen)
	}
	return all
}

// Blocks judges a comparison of two sides of load by one metric while the run goes on.
type Blocks struct {
	judge   Judge
	metric  string
	seen    int // blocks at the last look
	Decided bool
	Now     record.Comparison // as of the last look
}

// NewBlocks judges by a metric; rows is how many comparisons, over all sides and metrics, hold together.
func NewBlocks(rule record.Comparing, rows int, metric string) *Blocks {
	return &Blocks{judge: Judge{Comparing: rule, Rows: rows}, metric: metric,
		Now: record.Comparison{Metric: metric, Verdict: record.Undecided}}
}

// Look judges the blocks so far, where the schedule has a look at N, until it is decided. At the end of a run
// that ended by its plan, last uses what error is left.
func (b *Blocks) Look(blocks []Block, last bool) {
	for _, n := range schedule {
		if n > len(blocks) || b.Decided {
			break
		}
		if n > b.seen {
			b.seen = n
			b.look(blocks[:n], false)
			b.Decided = b.judge.decided(b.Now)
		}
	}
	if last && !b.Decided {
		b.look(blocks, true)
	}
}

func (b *Blocks) look(blocks []Block, last bool) {
	n := len(blocks)
	blocks = weighed(blocks)
	c := record.Comparison{Metric: b.metric, Verdict: record.Undecided, Pairs: n}
	alpha := (1 - b.judge.Level) / float64(max(1, b.judge.Rows))
	estimate, of := shiftOf(blocks, b.metric)
	iv, ok := exchangeInterval(estimate, n, of, looksFor(alpha).tail(n, last))
	if math.IsNaN(estimate) || math.IsInf(estimate, 0) {
		c.Warnings = append(c.Warnings, record.Warning{
			Code: "no_figure", Text: "a side has no figure of " + b.metric, Advice: "see what each side says of itself",
		})
		b.Now = c
		return
	}
	if !ok {
		least := leastPairs(alpha / 2)
		c.Needs = 2 * max(least-n, 1)
		if r := math.Exp(estimate); finiteAbove0(r) {
			c.Ratio = record.WithoutInterval(r)
		}
		if last {
			c.Warnings = append(c.Warnings, record.Warning{
				Code: "few_blocks", Text: fmt.Sprintf("too few blocks, %d, for an interval at %.4g %%", n, 100*(1-alpha)),
				Advice: fmt.Sprintf("run longer: at least %d blocks", least),
			})
		}
		b.Now = c
		return
	}
	b.Now = b.judge.conclude(c, iv, n)
}

func finiteAbove0(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
