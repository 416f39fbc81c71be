package watch

import (
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/record"
)

// A Row is one worker over one interval. Shares are parts of the interval, from 0 to 1; rates are per
// second; times are nanoseconds. A part that is nil could not be read, and Unknown says why.
type Row struct {
	Facts    `json:"head"`
	Evidence evidence.Set `json:"evidence"`

	asked  evidence.Set // what was observed because it was asked for
	moment moment
}

// Facts are what is known of a worker besides evidence.
type Facts struct {
	PID    int    `json:"pid"`
	Master int    `json:"master,omitempty"` // process ID of nginx's master
	Error  string `json:"error,omitempty"`  // why the other fields are empty

	CPU     float64                    `json:"cpu_share"`
	Wait    float64                    `json:"run_queue_share"` // wanted to run, but other processes did
	Lua     float64                    `json:"lua_share"`       // Lua was on the stack
	States  map[string]float64         `json:"states"`          // of that time: compiled, interpreted, …
	Phases  map[string]record.Interval `json:"phases"`          // of the interval, by phase of the request whose Lua ran
	Busiest string                     `json:"busiest_request"` // URI that Lua ran for most often; "": none

	LuaVM         // of the http block, where there are two
	Stream *LuaVM `json:"stream_lua,omitempty"`

	RSS         uint64  `json:"rss_bytes"`
	Sockets     int     `json:"sockets"` // -1: not known
	Voluntary   float64 `json:"voluntary_switches"`
	Involuntary float64 `json:"involuntary_switches"`
	MajorFaults float64 `json:"major_faults"`
	Read        float64 `json:"read_bytes"`  // by read(2) and its like; not by recv(2)
	Write       float64 `json:"write_bytes"` // by write(2) and its like; not by send(2)
	DiskRead    float64 `json:"disk_read_bytes"`
	DiskWrite   float64 `json:"disk_write_bytes"`

	Events map[process.Event]float64 `json:"events"` // of the main thread, as far as the machine counts them

	Connections *Connections  `json:"connections"`
	Loop        *Loop         `json:"event_loop"`
	Pools       []ngxlua.Pool `json:"cosocket_pools"` // at the end of the interval
	Unknown     []string      `json:"unknown,omitempty"`

	// Recent is what Lua did over the last intervals, the oldest first and this one last.
	Recent []Recent `json:"recent"`
}

// A LuaVM is the state of a VM at the interval's end.
type LuaVM struct {
	Heap   uint64 `json:"lua_heap_bytes"`
	GC     *GC    `json:"gc"`
	Traces int    `json:"traces"`
	JIT    *JIT   `json:"jit"`
}

// Recent is what Lua did in an interval.
type Recent struct {
	States map[string]float64 `json:"states"` // shares of the interval
	Heap   uint64             `json:"lua_heap_bytes"`
}

// A moment is what a row was made of, for those who want totals.
type moment struct {
	began, usage        process.Usage // at both ends of the interval
	eventsBegan, events map[process.Event]uint64
	missing             map[process.Event]error
	waits               []time.Duration // for the event loop, at single moments
	span                span
}

// GC is the state of Lua's garbage collector.
type GC struct {
	Phase     string `json:"phase"`
	Threshold uint64 `json:"threshold_bytes"` // at which it goes on
	Stopped   bool   `json:"stopped"`         // by collectgarbage("stop")
}

// JIT is the health of the compiler.
type JIT struct {
	Root        int     `json:"root_traces"`
	Side        int     `json:"side_traces"`
	Code        uint64  `json:"code_bytes"` // of the traces
	Area        uint64  `json:"area_bytes"` // taken for machine code; 0: none, or not known
	Aborts      []Abort `json:"aborts"`     // that LuaJIT remembers and may try again
	Blacklisted []Abort `json:"blacklisted"`
	Off         int     `json:"functions_off"` // by jit.off
	Whole       bool    `json:"searched_all"`  // the search for what is blacklisted came to its end
}

// An Abort is a loop or function that was not compiled.
type Abort struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Loop     bool   `json:"loop"`
	Reason   string `json:"reason"` // "": LuaJIT has forgotten it
}

// Connections is how many were in use, over the turns of the event loop that were seen.
type Connections struct {
	Average float64 `json:"average"`
	Most    int     `json:"max"`
	Limit   int     `json:"limit"` // worker_connections
}

// Loop is how long an event that comes at a random time waits for the event loop.
type Loop struct {
	P50        time.Duration `json:"p50_ns"`
	P90        time.Duration `json:"p90_ns"`
	P99        time.Duration `json:"p99_ns"`
	Most       time.Duration `json:"max_ns"`
	Samples    int           `json:"samples"`
	Turns      int           `json:"turns_seen"`
	Resolution time.Duration `json:"resolution_ns"` // of nginx's clock
}
