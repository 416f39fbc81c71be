package watch

import (
	"maps"
	"slices"
	"strconv"

	"github.com/moonlap/moonlap/internal/metrics"
)

// An exposition is the page for Prometheus.
type exposition struct{ metrics.Page }

// snapshot writes all families. What could not be read is left out.
func (e *exposition) snapshot(s Snapshot, since map[int]*totals) {
	e.Family("watched_workers", "gauge", "Workers that were watched in the last interval.")
	e.Value(float64(s.Seen()))
	e.Family("unwatched_workers", "gauge", "Workers that could not be watched.")
	e.Value(float64(len(s.Workers) - s.Seen()))
	e.Family("last_interval_timestamp_seconds", "gauge", "End of the last interval, since 1970.")
	if !s.At.IsZero() {
		e.Value(float64(s.At.UnixMilli()) / 1000)
	}
	if h := s.Host; h != nil {
		e.Family("host_quiet_ratio", "gauge", "Share of the last interval in which nothing slowed the machine, as yardsticks tell.")
		e.Value(h.Quiet)
		e.Family("host_slowed_ratio", "gauge", "By how much the machine was slowed in the last interval, on average: 0.1 is 10 %.")
		e.Value(h.Slowed())
	}
	e.workers(s.Workers, since)
	e.masters(s.Masters)
}

// each writes a family with the values of all workers that could be watched.
func (e *exposition) each(rows []Row, name, kind, help string, values func(r Row, value func(v float64, labels ...string))) {
	e.Family(name, kind, help)
	for _, r := range rows {
		if r.Error != "" {
			continue
		}
		pid := []string{"pid", strconv.Itoa(r.PID)}
		values(r, func(v float64, labels ...string) { e.Value(v, append(pid, labels...)...) })
	}
}

type put = func(v float64, labels ...string)

func (e *exposition) workers(rows []Row, since map[int]*totals) {
	gauge := func(name, help string, values func(Row, put)) { e.each(rows, name, "gauge", help, values) }
	counter := func(name, help string, values func(Row, put)) { e.each(rows, name, "counter", help, values) }

	gauge("worker_info", "The master that a worker belongs to.", func(r Row, v put) { v(1, "master", strconv.Itoa(r.Master)) })
	counter("worker_cpu_seconds_total", "Time that a worker ran.",
		func(r Row, v put) { v(r.moment.usage.CPU.Seconds()) })
	counter("worker_run_queue_seconds_total", "Time that a worker wanted to run while others did.",
		func(r Row, v put) { v(r.moment.usage.Wait.Seconds()) })
	counter("worker_context_switches_total", "Context switches: voluntary ones to wait for something, involuntary ones for others to run.",
		func(r Row, v put) {
			v(float64(r.moment.usage.Voluntary), "kind", "voluntary")
			v(float64(r.moment.usage.Involuntary), "kind", "involuntary")
		})
	counter("worker_io_bytes_total", "Bytes that read(2), write(2) and their like moved; recv(2), by which nginx takes requests in, is not counted.", func(r Row, v put) {
		v(float64(r.moment.usage.Read), "direction", "read")
		v(float64(r.moment.usage.Write), "direction", "write")
	})
	counter("worker_disk_bytes_total", "Bytes that came from a disk or have to go to one.", func(r Row, v put) {
		v(float64(r.moment.usage.DiskRead), "direction", "read")
		v(float64(r.moment.usage.DiskWrite), "direction", "write")
	})
	counter("worker_events_total", "What the kernel and the processor counted for a worker's main thread since it is watched.",
		func(r Row, v put) {
			for _, event := range slices.Sorted(maps.Keys(r.moment.events)) {
				v(float64(r.moment.events[event]), "event", string(event))
			}
		})
	gauge("worker_resident_memory_bytes", "Memory of a worker.", func(r Row, v put) { v(float64(r.RSS)) })
	gauge("worker_sockets", "Open sockets, listening ones included.", func(r Row, v put) {
		if r.Sockets >= 0 {
			v(float64(r.Sockets))
		}
	})
	e.lua(gauge)
	e.nginx(gauge)
	for _, r := range rows {
		if t := since[r.PID]; t != nil {
			t.evidence.Metrics(&e.Page, "pid", strconv.Itoa(r.PID))
		}
	}
	e.Family("worker_event_loop_wait_seconds", "histogram",
		"How long an event that comes at a random time waits for the event loop; sampled since the worker is watched.")
	for _, r := range rows {
		if t := since[r.PID]; t != nil && r.Loop != nil {
			t.loop.metrics(&e.Page, "pid", strconv.Itoa(r.PID))
		}
	}
}

func (e *exposition) lua(gauge func(name, help string, values func(Row, put))) {
	gauge("worker_lua_ratio", "Share of the last interval with Lua on the stack.", func(r Row, v put) { v(r.Lua) })
	gauge("worker_lua_state_ratio", "What Lua did, as shares of the time that it was on the stack.", func(r Row, v put) {
		for _, state := range slices.Sorted(maps.Keys(r.States)) {
			v(r.States[state], "state", state)
		}
	})
	gauge("worker_phase_ratio", "Share of the last interval that Lua ran for requests in a phase.", func(r Row, v put) {
		for _, phase := range slices.Sorted(maps.Keys(r.Phases)) {
			v(r.Phases[phase].Estimate, "phase", phase)
		}
	})
	gauge("worker_lua_heap_bytes", "Lua's heap.", func(r Row, v put) { v(float64(r.Heap)) })
	gauge("worker_lua_gc_threshold_bytes", "Size of the heap at which the garbage collector goes on.", func(r Row, v put) {
		if r.GC != nil {
			v(float64(r.GC.Threshold))
		}
	})
	compiler := func(name, help string, values func(*JIT, put)) {
		gauge(name, help, func(r Row, v put) {
			if r.JIT != nil {
				values(r.JIT, v)
			}
		})
	}
	compiler("worker_jit_traces", "Traces that there are.", func(j *JIT, v put) {
		v(float64(j.Root), "kind", "root")
		v(float64(j.Side), "kind", "side")
	})
	compiler("worker_jit_code_bytes", "Machine code of the traces.", func(j *JIT, v put) { v(float64(j.Code)) })
	compiler("worker_jit_area_bytes", "Memory taken for machine code.", func(j *JIT, v put) { v(float64(j.Area)) })
	compiler("worker_jit_aborted", "Loops and functions that LuaJIT failed to compile and may try again, of the last 64.",
		func(j *JIT, v put) { v(float64(len(j.Aborts))) })
	compiler("worker_jit_blacklisted", "Loops and functions that LuaJIT will not try to compile any more.",
		func(j *JIT, v put) { v(float64(len(j.Blacklisted))) })
}

func (e *exposition) nginx(gauge func(name, help string, values func(Row, put))) {
	connections := func(name, help string, value func(*Connections) float64) {
		gauge(name, help, func(r Row, v put) {
			if r.Connections != nil {
				v(value(r.Connections))
			}
		})
	}
	connections("worker_connections", "Connections in use, on average over the event loop's turns seen in the last interval.",
		func(c *Connections) float64 { return c.Average })
	connections("worker_connections_max", "Most connections in use at a turn seen in the last interval.",
		func(c *Connections) float64 { return float64(c.Most) })
	connections("worker_connections_limit", "worker_connections.", func(c *Connections) float64 { return float64(c.Limit) })
	gauge("worker_cosocket_pool_connections", "Connections of a pool of cosockets: in use, idle; and connects that wait for one.", func(r Row, v put) {
		for _, p := range r.Pools {
			v(float64(p.Busy), "pool", p.Name, "state", "busy")
			v(float64(p.Idle), "pool", p.Name, "state", "idle")
			v(float64(p.Waiting), "pool", p.Name, "state", "waiting")
		}
	})
	gauge("worker_cosocket_pool_size", "Most connections that a pool keeps.", func(r Row, v put) {
		for _, p := range r.Pools {
			v(float64(p.Size), "pool", p.Name)
		}
	})
}

func (e *exposition) masters(masters []Master) {
	counted := func(name, kind, help string, values func(m Master, v put)) {
		e.Family(name, kind, help)
		for _, m := range masters {
			label := []string{"master", strconv.Itoa(m.PID)}
			values(m, func(v float64, labels ...string) { e.Value(v, append(label, labels...)...) })
		}
	}
	counted("nginx_accepted_total", "counter", "Connections that nginx accepted.", func(m Master, v put) {
		if m.Counters != nil {
			v(float64(m.Counters.Accepted))
		}
	})
	counted("nginx_requests_total", "counter", "Requests that nginx began.", func(m Master, v put) {
		if m.Counters != nil {
			v(float64(m.Counters.Requests))
		}
	})
	counted("nginx_connections", "gauge", "Connections to clients, of all workers.", func(m Master, v put) {
		if c := m.Counters; c != nil {
			v(float64(c.Reading), "state", "reading")
			v(float64(c.Writing), "state", "writing")
			v(float64(c.Waiting), "state", "waiting")
		}
	})
	zone := func(name, kind, help string, value func(m Master, i int) uint64) {
		counted(name, kind, help, func(m Master, v put) {
			for i, z := range m.Zones {
				v(float64(value(m, i)), "zone", z.Name, "module", z.Module)
			}
		})
	}
	zone("zone_size_bytes", "gauge", "Size of a shared memory zone.", func(m Master, i int) uint64 { return m.Zones[i].Size })
	zone("zone_capacity_bytes", "gauge", "Size of a zone's pages together.", func(m Master, i int) uint64 { return m.Zones[i].Capacity })
	zone("zone_free_bytes", "gauge", "Size of a zone's pages that nothing is in.", func(m Master, i int) uint64 { return m.Zones[i].Free })
	zone("zone_pieces", "gauge", "Pieces in use of up to half a page; a small entry of a shared dict is one.",
		func(m Master, i int) uint64 { return m.Zones[i].Pieces })
	zone("zone_failed_allocations_total", "counter", "Pieces that a zone had no room for; a shared dict then drops other entries.",
		func(m Master, i int) uint64 { return m.Zones[i].Failed })
}
