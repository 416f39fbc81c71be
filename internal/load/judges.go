package load

import (
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/quiet"
	"github.com/moonlap/moonlap/internal/stat/sequential"
	"github.com/moonlap/moonlap/lap"
)

// judges compare every side with the first, by every metric of the plan, while the run goes on and again from its record.
type judges struct {
	sides   int
	threads int
	rows    []row
	blocks  map[int]*block // by number
	whole   []*block       // in order, those that are complete
	best    quiet.Tracker
}

// A row is one comparison.
type row struct {
	side int // B; A is the first
	*sequential.Blocks
}

// A block is what the sides did in it, over all threads.
type block struct {
	halves  []sequential.Half
	values  []*lap.Histogram
	missing int                    // slices of all threads that are still to come
	looks   []map[string][]float64 // at the machine meanwhile
}

// newJudges follows the rule in a record whose plan has been read; without a rule it has no rows.
func newJudges(rec *record.Record) *judges {
	j := &judges{sides: len(rec.Cases), blocks: map[int]*block{}, best: quiet.Tracker{Before: rec.Run.Yardsticks}}
	rule, plan := rec.Run.Comparing, rec.Load.Plan
	if rule == nil || plan == nil || j.sides < 2 {
		return j
	}
	metrics := slices.Clone(plan.Metrics)
	if plan.ServerPIDs == nil {
		metrics = slices.DeleteFunc(metrics, func(m string) bool { return m == sequential.MetricCPU })
	}
	j.threads = plan.Threads * max(1, plan.Machines)
	for side := 1; side < j.sides; side++ {
		for _, metric := range metrics {
			judged := *rule
			judged.FailIfSlower = plan.Gates[metric]
			j.rows = append(j.rows, row{side, sequential.NewBlocks(judged, (j.sides-1)*len(metrics), metric)})
		}
	}
	return j
}

// add files a slice, and looks where a block is complete.
func (j *judges) add(s record.LoadSlice) {
	if len(j.rows) == 0 || s.Warmup || s.Side >= j.sides {
		return
	}
	b := j.blocks[s.Block]
	if b == nil {
		b = &block{halves: make([]sequential.Half, j.sides), values: make([]*lap.Histogram, j.sides), missing: 2 * j.sides * j.threads}
		j.blocks[s.Block] = b
	}
	half := sequential.Half{NS: s.NS / float64(j.threads), Responses: float64(s.Responses), SumNS: s.SumNS}
	if s.ServerCPUNS != nil {
		half.CPUNS = *s.ServerCPUNS
	}
	b.halves[s.Side].Add(half)
	b.values[s.Side] = merge(b.values[s.Side], s.Latency)
	if len(s.Yardsticks) > 0 {
		tracked(&j.best, s)
		b.looks = append(b.looks, s.Yardsticks)
	}
	if b.missing--; b.missing != 0 {
		return
	}
	for i := range b.halves {
		if b.values[i] != nil {
			b.halves[i].Latency = sequential.NewTally(b.values[i])
		}
	}
	b.values = nil
	j.whole = append(j.whole, b)
	j.look(false)
}

func (j *judges) look(last bool) {
	for _, r := range j.rows {
		if !r.Decided {
			r.Look(j.of(r.side), last)
		}
	}
}

// of are the whole blocks as those of the first side and another.
func (j *judges) of(side int) []sequential.Block {
	best := j.best.Best()
	list := make([]sequential.Block, 0, len(j.whole))
	for _, b := range j.whole {
		list = append(list, sequential.Block{A: b.halves[0], B: b.halves[side], Disturbed: b.disturbed(best)})
	}
	return list
}

// disturbed reports whether something slowed the machine for half of the time or more.
func (b *block) disturbed(best quiet.Best) bool {
	var moments []quiet.Moment
	for _, l := range b.looks {
		moments = append(moments, best.Moments(l)...)
	}
	return !quiet.Mostly(moments)
}

// decided reports whether no comparison needs more.
func (j *judges) decided() bool {
	return len(j.rows) > 0 && !slices.ContainsFunc(j.rows, func(r row) bool { return !r.Decided })
}

func (j *judges) now() []record.Comparison {
	var list []record.Comparison
	for _, r := range j.rows {
		list = append(list, r.Now)
	}
	return list
}

// compare judges a whole record as its run did. The last look is that of a run which ended by its plan.
func compare(rec *record.Record) []record.Comparison {
	j := newJudges(rec)
	for _, s := range rec.Load.Slices {
		j.add(s)
	}
	if rec.Complete() {
		j.look(true)
	}
	list := []record.Comparison{}
	for _, r := range j.rows {
		c := r.Now
		c.A, c.B = rec.Cases[0].Name, rec.Cases[r.side].Name
		list = append(list, c)
	}
	return list
}

// merge adds an encoded histogram to one. What cannot be read, or has other buckets, adds nothing: [Summarize] tells of it.
func merge(into *lap.Histogram, text string) *lap.Histogram {
	if text == "" {
		return into
	}
	if into != nil {
		_ = into.MergeEncoded(text)
		return into
	}
	h, err := lap.Decode(text)
	if err != nil {
		return nil
	}
	return h
}
