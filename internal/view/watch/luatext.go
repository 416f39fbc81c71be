package watch

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/ui"
)

// A luaColumn is something that Lua does, in one or more of its states.
type luaColumn struct {
	name   string
	states []luajit.State
}

var luaColumns = []luaColumn{
	{"compiled", []luajit.State{luajit.Compiled}}, {"interpreted", []luajit.State{luajit.Interpreted}},
	{"in C", []luajit.State{luajit.InC}}, {"collector", []luajit.State{luajit.Collect}},
	{"trace exits", []luajit.State{luajit.TraceExit}},
	{"compiler", []luajit.State{luajit.Record, luajit.Optimize, luajit.Assemble}},
}

// watchLua shows what Lua did in this interval and in those before: shares of their time, and the heap.
func (p *page) watchLua(s Snapshot) {
	share := func(r Recent, states []luajit.State) (sum float64) {
		for _, state := range states {
			sum += r.States[state.String()]
		}
		return sum
	}
	ran := slices.DeleteFunc(slices.Clone(luaColumns), func(c luaColumn) bool {
		return !slices.ContainsFunc(s.Workers, func(r Row) bool {
			return slices.ContainsFunc(r.Recent, func(x Recent) bool { return share(x, c.states) > 0 })
		})
	})
	if len(ran) == 0 {
		return
	}
	intervals := 1
	headers := []string{"worker", "heap"}
	for _, c := range ran {
		headers = append(headers, c.name)
	}
	var table [][]string
	for _, r := range s.Workers {
		if len(r.Recent) == 0 {
			continue
		}
		intervals = max(intervals, len(r.Recent))
		var heap []float64
		for _, x := range r.Recent {
			heap = append(heap, float64(x.Heap))
		}
		row := []string{fmt.Sprint(r.PID), p.Size(float64(r.Heap)) + p.Spark(heap, slices.Max(heap))}
		for _, c := range ran {
			var course []float64
			for _, x := range r.Recent {
				course = append(course, share(x, c.states))
			}
			row = append(row, fmt.Sprintf("%5s", ui.Percent(course[len(course)-1]))+p.Spark(course, 1))
		}
		table = append(table, row)
	}
	title := "what Lua did, of the interval"
	if intervals > 1 {
		title = fmt.Sprintf("what Lua did, of the interval and of the %d before", intervals-1)
	}
	p.Section(title)
	p.Fitted(headers, table, 1, 2, 3, 4, 5, 6, 7)
}

// watchStream shows the Lua VMs of stream blocks, where http has one of its own.
func (p *page) watchStream(s Snapshot) {
	var table [][]string
	for _, r := range s.Workers {
		if l := r.Stream; l != nil {
			table = append(table, []string{fmt.Sprint(r.PID), p.Size(float64(l.Heap)), p.nextGC(l.GC), fmt.Sprint(l.Traces)})
		}
	}
	if len(table) == 0 {
		return
	}
	p.Section("Lua of the stream block; heap, GC and traces above are of http")
	p.Fitted([]string{"worker", "heap", "GC at", "traces"}, table)
}

// watchPools lists the pools of cosockets, those first that connects wait for, then the busiest.
func (p *page) watchPools(s Snapshot) {
	type one struct {
		pid int
		ngxlua.Pool
	}
	var all []one
	for _, r := range s.Workers {
		for _, pool := range r.Pools {
			all = append(all, one{r.PID, pool})
		}
	}
	listed(p, "cosocket pools", all, func(a, b one) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Busy, a.Busy), cmp.Compare(b.Idle, a.Idle))
	}, []string{"pool", "in use", "idle", "size", "waiting", "worker"}, func(q one) []string {
		return []string{p.Shorten(ui.Clean(q.Name), 40), fmt.Sprint(q.Busy), fmt.Sprint(q.Idle), fmt.Sprint(q.Size), fmt.Sprint(q.Waiting), fmt.Sprint(q.pid)}
	}, 0)
}
