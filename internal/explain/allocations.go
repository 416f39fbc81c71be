package explain

import (
	"cmp"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/worker"
)

// Allocations is what Lua has allocated: estimates for the whole time, of all workers together. An object is what one
// allocation makes; a table with entries may be three.
type Allocations struct {
	Began      time.Time `json:"began"`
	Elapsed    int64     `json:"elapsed_ns"` // since then, of all workers together, as all below
	Bytes      float64   `json:"bytes"`
	Low        float64   `json:"bytes_low"` // 95 %
	High       float64   `json:"bytes_high"`
	Objects    float64   `json:"objects"`
	Requests   uint64    `json:"requests"` // meanwhile; 0: not known, or none
	Probed     int64     `json:"probed_ns"`
	Windows    int       `json:"windows"`
	Looks      int       `json:"looks"`
	Effective  float64   `json:"effective_looks"` // so many of equal weight tell as much
	Counted    uint64    `json:"counted_bytes"`   // while it was probed
	Blocks     uint64    `json:"counted_objects"`
	Traps      int       `json:"traps"`
	Each       int64     `json:"cost_of_each_ns"`
	Cost       float64   `json:"cost"`           // share of the elapsed time
	Inside     float64   `json:"cost_in_probed"` // share of the workers' CPU time while they were probed
	Budget     float64   `json:"budget"`
	HeapBefore uint64    `json:"heap_before_bytes"`
	HeapAfter  uint64    `json:"heap_after_bytes"`
	Lines      []Line    `json:"lines"` // innermost Lua lines, that with the most bytes first
}

// A Line is what one line of Lua has allocated.
type Line struct {
	Name    string  `json:"name"`
	Share   float64 `json:"share"` // of the bytes
	Bytes   float64 `json:"bytes"`
	Objects float64 `json:"objects"`
}

// Allocated puts what was seen into figures. workers lists a master's workers: the requests of one are known where all of
// its workers were looked at.
func Allocated(l worker.Looks, workers func(master int) ([]int, error)) *Allocations {
	a := l.Allocations
	share := func(part, of int64) float64 { return float64(part) / float64(max(1, of)) }
	out := &Allocations{
		Began: a.Began.UTC(), Elapsed: a.Elapsed.Nanoseconds(), Bytes: a.Bytes, Low: a.Low, High: a.High, Objects: a.Blocks, Requests: requests(a.Served, workers),
		Probed: a.Probed.Nanoseconds(), Windows: a.Windows, Looks: len(l.Samples), Counted: a.CountedBytes, Blocks: a.CountedBlocks, Traps: a.Traps,
		Each: a.Each.Nanoseconds(), Cost: share(a.Cost.Nanoseconds(), a.Elapsed.Nanoseconds()),
		Inside: share(a.Inside.Nanoseconds(), a.Used.Nanoseconds()), Budget: a.Budget,
		HeapBefore: a.HeapBefore, HeapAfter: a.HeapAfter, Lines: []Line{},
	}
	index := map[string]int{}
	squares := 0.0
	for _, s := range l.Samples {
		squares += s.Allocation.Bytes * s.Allocation.Bytes
		name := "(outside of Lua)"
		if s.Lua {
			name = worker.InnermostLua(s.Stack).Where()
		}
		i, ok := index[name]
		if !ok {
			i = len(out.Lines)
			index[name] = i
			out.Lines = append(out.Lines, Line{Name: name})
		}
		out.Lines[i].Bytes += s.Allocation.Bytes
		out.Lines[i].Objects += s.Allocation.Blocks
	}
	if squares > 0 {
		out.Effective = a.Bytes * a.Bytes / squares
	}
	for i := range out.Lines {
		out.Lines[i].Share = out.Lines[i].Bytes / max(1, out.Bytes)
	}
	slices.SortStableFunc(out.Lines, func(a, b Line) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return out
}

// requests are those that were served meanwhile; 0 where a master has workers that were not looked at.
func requests(masters map[int]worker.Served, workers func(master int) ([]int, error)) (n uint64) {
	for master, served := range masters {
		all, err := workers(master)
		if err != nil || slices.ContainsFunc(all, func(pid int) bool { return !slices.Contains(served.Workers, pid) }) {
			return 0
		}
		n += served.Requests
	}
	return n
}
