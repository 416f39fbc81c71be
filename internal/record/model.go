// Package record is Moonlap's one data model: what a run measured, as versioned
// JSON lines. Everything that is reported, compared, stored or drawn is computed
// from records, so an old record can be judged again by newer statistics.
//
// A record file holds one [Line] a line. The first is a [Run], the last an [End];
// between them come the [Runtime], the [Case] lines of the plan, and then, process
// by process, what each fresh VM said: [Process], [Batches], [Laps], [Memory],
// [JIT], [Fault], [Finish], and [Exit], which the parent adds when the process is
// gone. A record without its End line was cut off; what stands before is whole.
//
// Times are nanoseconds (float64, because a batch's share of a call is a fraction),
// sizes bytes, unless a field's name says otherwise.
package record

import (
	"encoding/json"
	"regexp"
)

// Schema names the version of the format; readers refuse a major they don't know.
const Schema = "moonlap/1"

// A Line is one line of a record: any of the types below.
type Line interface {
	// Type is the value of the line's "type" key.
	Type() string
}

// Run opens a record: who measured, when, and on what machine.
type Run struct {
	Schema      string      `json:"schema"`
	Kind        string      `json:"kind"`    // the command: "bench", …
	Moonlap     string      `json:"moonlap"` // version of the program that wrote the record
	Args        []string    `json:"args"`    // the command line, without the program
	Started     string      `json:"started"` // RFC 3339
	Seed        uint64      `json:"seed"`    // every random choice of the run follows from it
	BudgetNS    float64     `json:"budget_ns"`
	Environment Environment `json:"environment"`
	File        string      `json:"file,omitempty"`      // bench file, as the user named it
	SavedAs     string      `json:"saved_as,omitempty"`  // name that the history keeps the run under
	Comparing   *Comparing  `json:"comparing,omitempty"` // of a run that compares interleaved
	// Yardsticks are the best times in ns, by kind, that were seen on the machine before the run.
	Yardsticks map[string]float64 `json:"yardsticks,omitempty"`
}

// Comparing is how a run judges its comparisons. It stands in the record because when
// the run stops follows from it: judged again with it, a record gives the same verdicts.
type Comparing struct {
	Level     float64 `json:"level"`      // of all intervals together, at all looks
	MinEffect float64 `json:"min_effect"` // smallest relative difference that matters
	// FailIfSlower is the gate: the relative slow-down that fails; 0: there is none.
	FailIfSlower float64 `json:"fail_if_slower,omitempty"`
	// Processes is how many ran a side; 0: the run looked after every round whether it
	// was decided.
	Processes int `json:"processes,omitempty"`
}

// Environment is the machine as it was when the run began. A field that this
// machine does not offer is empty and named in Missing with the reason.
type Environment struct {
	OS             string            `json:"os"` // "linux"
	Arch           string            `json:"arch"`
	Kernel         string            `json:"kernel,omitempty"`
	Machine        string            `json:"machine,omitempty"` // tells machines apart; derived from the machine id, which it does not reveal
	CPU            string            `json:"cpu,omitempty"`
	Cores          int               `json:"cores"`
	Governor       string            `json:"governor,omitempty"`
	Turbo          string            `json:"turbo,omitempty"` // "on", "off"
	SMT            string            `json:"smt,omitempty"`   // "on", "off", "notsupported", …
	Virtualization string            `json:"virtualization,omitempty"`
	ClockSource    string            `json:"clock_source,omitempty"`
	ASLR           string            `json:"aslr,omitempty"`
	Load           []float64         `json:"load,omitempty"`          // 1, 5, 15 minutes
	StealPercent   *float64          `json:"steal_percent,omitempty"` // since boot
	CPUQuota       string            `json:"cpu_quota,omitempty"`     // cgroup cpu.max
	MemoryBytes    int64             `json:"memory_bytes,omitempty"`
	GitCommit      string            `json:"git_commit,omitempty"`
	GitDirty       bool              `json:"git_dirty,omitempty"`
	Missing        map[string]string `json:"missing,omitempty"` // field → why it could not be read
}

// Runtime says which program runs the user's code.
type Runtime struct {
	Kind      string `json:"kind"` // "luajit", "nginx", "go"
	Path      string `json:"path"`
	Version   string `json:"version"`              // as the program prints it
	OpenResty string `json:"openresty,omitempty"`  // version, when it is an OpenResty tree
	LuaModule string `json:"lua_module,omitempty"` // path of the dynamic Lua module, when there is one
	// HTTP modules that this nginx lacks, though they are built by default: "scgi", "rewrite", …
	Without []string `json:"without,omitempty"`
}

// Case is one entry of the plan: a benchmark with its parameters, and how it runs.
type Case struct {
	Case        int            `json:"case"` // its number in this record, from 0
	Name        string         `json:"name"` // benchmark/param=value/…, unique in the record
	Benchmark   string         `json:"benchmark"`
	Params      map[string]any `json:"params,omitempty"` // string, number or bool values
	Tags        []string       `json:"tags,omitempty"`
	File        string         `json:"file,omitempty"`
	Line        int            `json:"line,omitempty"`
	Index       int            `json:"index"` // its number in the bench file, from 0
	Runtime     string         `json:"runtime"`
	Package     string         `json:"package,omitempty"` // of Go: its import path
	Phase       string         `json:"phase,omitempty"`   // nginx phase: "timer", "content", …
	Workers     int            `json:"workers,omitempty"` // nginx workers that run it at once
	GC          string         `json:"gc"`                // "natural", "stopped", "full"
	Laps        bool           `json:"laps,omitempty"`
	Concurrency int            `json:"concurrency,omitempty"` // light threads, for yielding targets
	Rate        float64        `json:"rate,omitempty"`        // calls a second, open loop; 0: closed loop
	Side        string         `json:"side,omitempty"`        // of a comparison of several: what sets it apart
	Commit      string         `json:"commit,omitempty"`      // revision that the side was checked out at
}

// Source is a place in the user's code.
type Source struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// In names the process, and the worker in it, that a line comes from. Outside
// nginx, and in a single worker, Worker is 0.
type In struct {
	Process int `json:"process"`
	Worker  int `json:"worker"`
}

// Process is the first line of a fresh VM.
type Process struct {
	In
	Case  int      `json:"case"`
	Round int      `json:"round"` // every case runs once a round
	PID   int      `json:"pid"`
	Seed  float64  `json:"seed"`           // seeds math.random; below 2^53
	PRNG  []uint32 `json:"prng,omitempty"` // jit.prngstate at start, where the VM offers it
	VM    VM       `json:"vm"`
	Nginx *Nginx   `json:"nginx,omitempty"`
	Clock Clock    `json:"clock"`
}

// VM is the LuaJIT that ran, or the Go program.
type VM struct {
	Version string             `json:"version"`           // jit.version
	Build   string             `json:"build,omitempty"`   // what tells this build from others of that version
	Library string             `json:"library,omitempty"` // path of libluajit, or of the executable that holds it
	Arch    string             `json:"arch"`
	GC64    bool               `json:"gc64"`
	JIT     bool               `json:"jit"`              // false: interpreter only
	Opt     []string           `json:"opt"`              // jit.status() flags
	Params  map[string]float64 `json:"params,omitempty"` // jit.opt parameters that can be read
	// GOMAXPROCS is the number of processors that Go code may use; 0: this is LuaJIT.
	GOMAXPROCS int `json:"gomaxprocs,omitempty"`
}

// Go reports whether it runs Go code: there is no JIT to tell of.
func (v VM) Go() bool { return v.GOMAXPROCS > 0 }

// Nginx is the server that the VM lives in.
type Nginx struct {
	Version   string `json:"version"`    // "1.22.1"
	LuaModule string `json:"lua_module"` // "0.10.23"
	Phase     string `json:"phase"`      // as ngx.get_phase says
	Process   string `json:"process"`    // "worker", "single"
}

// Clock is the clock that timed this process.
type Clock struct {
	Source    string  `json:"source"` // "tsc", "monotonic"
	StepNS    float64 `json:"step_ns"`
	CostNS    float64 `json:"cost_ns"` // of one read, compiled
	NSPerTick float64 `json:"ns_per_tick,omitempty"`
	Compiled  bool    `json:"compiled"`         // the read was seen to compile
	Reason    string  `json:"reason,omitempty"` // why not the time-stamp counter
}

// Kinds of batches.
const (
	Warmup    = "warmup"     // the case, before the steady state
	Measure   = "measure"    // the case, measured
	Empty     = "empty"      // the empty twin: same loop, a function that does nothing
	GCStopped = "gc_stopped" // the case with the collector stopped, for the GC's share
)

// Batches are consecutive batches of one kind. The slices are parallel; Traces,
// Switches and Steal are nil when they'd hold only zeros.
type Batches struct {
	In
	Kind     string    `json:"kind"`
	Series   int       `json:"series"` // a full collection comes before each series
	AtNS     float64   `json:"at_ns"`  // start of the first batch, since the process's first line
	Calls    []int     `json:"calls"`
	NS       []float64 `json:"ns"`                 // of the whole batch
	Traces   []int     `json:"traces,omitempty"`   // trace events (start, stop, abort, flush) inside it
	Switches []int     `json:"switches,omitempty"` // involuntary context switches inside it
	Steal    []int     `json:"steal,omitempty"`    // 1: the hypervisor took CPU time around it
	// Yardsticks are the times of fixed pieces of work in ns, by kind: one before each batch and
	// one after the last.
	Yardsticks map[string][]float64 `json:"yardsticks,omitempty"`
}

// Kinds of laps.
const (
	LapCalls    = "calls"    // each call timed singly
	LapEmpty    = "empty"    // the empty twin, timed the same way: the overhead
	LapService  = "service"  // yielding target: from actual start to end
	LapResponse = "response" // open loop: from the intended start to end
)

// Laps is a histogram of calls timed one by one.
type Laps struct {
	In
	Kind       string  `json:"kind"`
	Count      int64   `json:"count"`
	OverheadNS float64 `json:"overhead_ns"`          // already taken off every value
	OverheadPM float64 `json:"overhead_pm"`          // ± of the overhead
	MeanNS     float64 `json:"mean_ns"`              // exact, not from the buckets
	MinNS      float64 `json:"min_ns"`               // exact
	MaxNS      float64 `json:"max_ns"`               // exact
	ElapsedNS  float64 `json:"elapsed_ns,omitempty"` // wall time of the whole series
	Late       int64   `json:"late,omitempty"`       // open loop: calls that started after their time
	Histogram  string  `json:"histogram"`            // HdrHistogram V2, base64, values in ns
}

// Memory is what a call allocates on the Lua heap.
type Memory struct {
	In
	Calls               int      `json:"calls"`
	BytesPerCall        float64  `json:"bytes_per_call"`
	InterpretedPerCall  *float64 `json:"interpreted_bytes_per_call,omitempty"` // the same with the JIT off
	HeapBytes           float64  `json:"heap_bytes"`                           // Lua heap at the end
	CollectionsMeasured int      `json:"collections,omitempty"`                // GC cycles seen while measuring
}

// Metric is what a Go benchmark reports beside its time and memory: allocs/op, and what it
// gives to b.ReportMetric.
type Metric struct {
	In
	Unit   string    `json:"unit"`   // "allocs/op", "ns/p50", …
	Values []float64 `json:"values"` // one for each batch that reports it
}

// JIT is the ledger of what the JIT compiler did in a process.
type JIT struct {
	In
	Traces      []Trace     `json:"traces"`
	Aborts      []Abort     `json:"aborts,omitempty"`
	Blacklisted []Blacklist `json:"blacklisted,omitempty"`
	Flushes     int         `json:"flushes,omitempty"`
	MCodeBytes  int         `json:"mcode_bytes"`
	Truncated   bool        `json:"truncated,omitempty"` // more traces than the ledger keeps
}

// Trace is one compiled trace.
type Trace struct {
	ID     int    `json:"id"`
	Parent int    `json:"parent,omitempty"` // side trace: the trace it leaves
	Exit   int    `json:"exit,omitempty"`
	Stage  string `json:"stage"` // "load", "setup", "warmup", "measure", …
	Source
	Lines string `json:"lines,omitempty"` // the user's lines it runs through: "5-6-9"
	Link  string `json:"link"`            // "loop", "root", "stitch", "return", …
	Ins   int    `json:"ins"`             // IR instructions
	MCode int    `json:"mcode"`           // bytes of machine code
	Own   bool   `json:"own,omitempty"`   // of the harness's loop or of the user's code it calls
}

// Abort is a place where recording was given up.
type Abort struct {
	Source
	Reason string `json:"reason"`
	NYI    string `json:"nyi,omitempty"` // bytecode or function that is not yet implemented
	Count  int    `json:"count"`
	Stage  string `json:"stage"`
}

// Blacklist is a loop or function that LuaJIT has given up compiling.
type Blacklist struct {
	Source
	What string `json:"what"` // "loop", "function"
}

// Kinds of faults.
const (
	FaultError   = "error"   // the user's Lua threw
	FaultTimeout = "timeout" // it did not end in time
	FaultCrash   = "crash"   // a signal killed the process
	FaultExit    = "exit"    // the code ended its own process: os.exit
	FaultMemory  = "memory"  // the memory limit was reached
	FaultStart   = "start"   // the runtime did not start: nginx refused its configuration, …
	FaultChannel = "channel" // the record stream of the process is corrupt
)

// Fault is why a process did not finish, or why a file yielded no case.
type Fault struct {
	In
	Case  int    `json:"case"` // -1: not in a case
	Kind  string `json:"kind"`
	Stage string `json:"stage,omitempty"` // "load", "setup", "run", "check", "teardown", …
	Call  int    `json:"call,omitempty"`  // number of the call that threw, from 1, where known
	Text  string `json:"text"`
	Source
	Traceback string `json:"traceback,omitempty"`
}

// searched is a line of require's message: a place where a module is not.
var searched = regexp.MustCompile(`:?\n\s*no (field package\.preload\[|file )'[^\n]*`)

// Said is the text of a fault without the places where require looked for a module in vain: some fifteen lines.
func (f Fault) Said() string { return searched.ReplaceAllString(f.Text, "") }

// Finish is the last line that a healthy process writes.
type Finish struct {
	In
	Stop      string  `json:"stop"` // why it stopped measuring: "enough", "time", …
	ElapsedNS float64 `json:"elapsed_ns"`
	// Yields: the target gave up the CPU to the event loop while it ran.
	Yields bool `json:"yields,omitempty"`
	// InstructionsPerCall is of the measured batches, the timed loop with them, in user
	// space; nil where the CPU has no counter for it.
	InstructionsPerCall *float64 `json:"instructions_per_call,omitempty"`
}

// Profile is where a case's time went: the stacks of one more process, which ran after the measured
// ones and is not among them.
type Profile struct {
	Case    int             `json:"case"`
	By      string          `json:"by"`      // how it was looked at: "ebpf", "ptrace"
	Profile json.RawMessage `json:"profile"` // as moonlap profile --format json writes one
}

// Exit is the parent's line on a process that is gone.
type Exit struct {
	Process   int     `json:"process"`
	Status    int     `json:"status"`
	Signal    string  `json:"signal,omitempty"`
	ElapsedNS float64 `json:"elapsed_ns"`
	CPUNS     float64 `json:"cpu_ns"`
	MaxRSS    int64   `json:"max_rss"`
	Stdout    *Output `json:"stdout,omitempty"`
	Stderr    *Output `json:"stderr,omitempty"`
}

// Output is what the user's code printed: how much, and how it began.
type Output struct {
	Bytes int64  `json:"bytes"`
	Head  string `json:"head"`
}

// End closes a record.
type End struct {
	Reason    string  `json:"reason"` // "complete", "interrupted"
	ElapsedNS float64 `json:"elapsed_ns"`
}

func (Run) Type() string     { return "run" }
func (Runtime) Type() string { return "runtime" }
func (Case) Type() string    { return "case" }
func (Process) Type() string { return "process" }
func (Batches) Type() string { return "batches" }
func (Laps) Type() string    { return "laps" }
func (Memory) Type() string  { return "memory" }
func (Metric) Type() string  { return "metric" }
func (JIT) Type() string     { return "jit" }
func (Fault) Type() string   { return "fault" }
func (Finish) Type() string  { return "finish" }
func (Profile) Type() string { return "profile" }
func (Exit) Type() string    { return "exit" }
func (End) Type() string     { return "end" }
