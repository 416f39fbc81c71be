package watch

// collector writes what the garbage collector did. Totals are since a worker is watched.
func (e *exposition) collector(gauge, counter func(name, help string, values func(Row, put)), since map[int]*totals) {
	of := func(values func(*Collector, put)) func(Row, put) {
		return func(r Row, v put) {
			if r.Collector != nil {
				values(r.Collector, v)
			}
		}
	}
	total := func(value func(*totals) float64) func(Row, put) {
		return func(r Row, v put) {
			if t := since[r.PID]; t != nil && r.Collector != nil {
				v(value(t))
			}
		}
	}
	counter("worker_lua_gc_cycles_total", "Cycles of Lua's garbage collector that were seen since the worker is watched.",
		total(func(t *totals) float64 { return float64(t.cycles) }))
	counter("worker_lua_allocated_bytes_total", "Bytes that Lua allocated since the worker is watched, by the collector's books.",
		total(func(t *totals) float64 { return t.allocated }))
	gauge("worker_lua_gc_ratio", "Share of the last interval that the garbage collector held the worker.",
		of(func(c *Collector, v put) { v(c.Share.Estimate) }))
	gauge("worker_lua_heap_lowest_bytes", "Least that Lua's heap had in the last interval.",
		of(func(c *Collector, v put) { v(float64(c.Lowest)) }))
	gauge("worker_lua_heap_highest_bytes", "Most that Lua's heap had in the last interval.",
		of(func(c *Collector, v put) { v(float64(c.Highest)) }))
	gauge("worker_lua_gc_longest_step_seconds", "How long, at least, the longest took that the garbage collector did without a break in the last interval; 0: less than can be told.",
		of(func(c *Collector, v put) {
			if c.Longest != nil {
				v(c.Longest.Least.Seconds())
			}
		}))
	gauge("worker_lua_gc_last_cycle_seconds", "How long the last cycle took that ended in the last interval.",
		of(func(c *Collector, v put) {
			if n := len(c.Last); n > 0 {
				v(c.Last[n-1].Length.Seconds())
			}
		}))
}
