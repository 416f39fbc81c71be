package record

// Results are what stat makes of a record, and what `--format json` prints on
// every command.
type Results struct {
	Schema      string      `json:"schema"`
	Kind        string      `json:"kind"`
	Environment Environment `json:"environment"`
	Runtime     *Runtime    `json:"runtime,omitempty"`
	VMs         []VM        `json:"vms,omitempty"` // every distinct VM that ran
	Nginx       *Nginx      `json:"nginx,omitempty"`
	Clock       *Clock      `json:"clock,omitempty"`
	// Yardsticks are the best times known of each kind, in ns; nil where none was timed.
	Yardsticks  map[string]float64 `json:"yardsticks,omitempty"`
	Seed        uint64             `json:"seed"`
	Warnings    []Warning          `json:"warnings"`
	Cases       []CaseResult       `json:"cases"`
	Comparisons []Comparison       `json:"comparisons"`
	Complete    bool               `json:"complete"` // false: cut off, interrupted, or a case failed
}

// Warning says that a figure needs care, and what to do about it.
type Warning struct {
	Code   string `json:"code"` // short and stable: "few_processes"
	Text   string `json:"text"`
	Advice string `json:"advice"`
}

// Interval is an estimate with its confidence interval.
type Interval struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// WithoutInterval is an estimate of which too few values are known for an interval: it has no width.
func WithoutInterval(estimate float64) Interval { return Interval{estimate, estimate, estimate} }

// Distribution is an estimate with its interval, and the spread of what it was
// estimated from.
type Distribution struct {
	Interval
	Min float64 `json:"min"`
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Classes of a case's way to its steady state (Barrett et al., OOPSLA 2017).
const (
	SteadyFlat     = "flat"     // steady from the first batch on
	SteadyWarmup   = "warmup"   // became faster, then steady
	SteadySlowdown = "slowdown" // became slower, then steady
	SteadyNone     = "none"     // never steady: there is no single figure
)

// CaseResult is what a record says of one case.
type CaseResult struct {
	Name   string         `json:"name"`
	Params map[string]any `json:"params,omitempty"`
	Case   Case           `json:"plan"`
	// NSPerCall is over processes: Estimate is the location of the (largest) mode,
	// with the cost of the empty twin taken off. Min to Max spread over clean batches.
	// nil when there's no figure: no process finished, or none was ever steady.
	NSPerCall    *Distribution `json:"ns_per_call"`
	EmptyNS      *Interval     `json:"empty_ns,omitempty"` // what was taken off: a turn of the empty twin
	BytesPerCall *float64      `json:"bytes_per_call"`
	// InstructionsPerCall is the median over the VMs, the timed loop with it; nil where the
	// CPU has no counter.
	InstructionsPerCall *float64       `json:"instructions_per_call,omitempty"`
	Metrics             []MetricResult `json:"metrics,omitempty"`  // by unit
	GCShare             *Interval      `json:"gc_share,omitempty"` // of the time, 0…1
	Processes           int            `json:"processes"`          // that count
	Failed              int            `json:"failed,omitempty"`
	Steady              string         `json:"steady"`
	SteadyCounts        map[string]int `json:"steady_processes,omitempty"` // class → processes
	Modes               []Mode         `json:"modes"`
	JIT                 JITSummary     `json:"jit"`
	Laps                *LapsResult    `json:"laps,omitempty"`
	// PerProcess is each process's own location in ns per call, in order of start.
	PerProcess []ProcessResult `json:"per_process"`
	// Bins are the pooled clean batches (or laps), for drawing.
	Bins     []Bin      `json:"bins,omitempty"`
	Batches  BatchTally `json:"batches"`
	Quiet    *Quiet     `json:"quiet,omitempty"` // nil where no yardstick was timed
	Faults   []Fault    `json:"faults,omitempty"`
	Warnings []Warning  `json:"warnings"`
	// Profile is where its time went; nil where that was not asked for.
	Profile *Profile `json:"-"`
	// Hot is what JSON has of that profile.
	Hot *Hot `json:"profile,omitempty"`
}

// Hot is a case's profile in short.
type Hot struct {
	By      string       `json:"by"` // ebpf, ptrace
	Samples int64        `json:"samples"`
	States  []StateShare `json:"states"`
	Lines   []HotLine    `json:"lua_lines"`       // innermost Lua lines, the hottest first
	Fault   string       `json:"fault,omitempty"` // why the profile can't be read
}

// StateShare is how often Lua was in a state: compiled, interpreted, C, garbage collection.
type StateShare struct {
	State string  `json:"state"`
	Share float64 `json:"share"` // of the samples, 0…1
}

// HotLine is a Lua line that ran.
type HotLine struct {
	Function string  `json:"function,omitempty"`
	File     string  `json:"file,omitempty"`
	Line     int     `json:"line,omitempty"`      // 0: not known
	LastLine int     `json:"last_line,omitempty"` // where the line was not known, it was one from Line to this
	Samples  int64   `json:"samples"`
	Share    float64 `json:"share"` // of the samples, 0…1
}

// ProcessResult is one process's figure.
type ProcessResult struct {
	Process int     `json:"process"`
	Worker  int     `json:"worker,omitempty"`
	NS      float64 `json:"ns"`
	MinNS   float64 `json:"min_ns"`
	Mode    int     `json:"mode"` // index into Modes, 0 when there is one
	Steady  string  `json:"steady"`
	Seed    float64 `json:"seed"`
	// Metrics are the medians of what its batches report, by unit.
	Metrics map[string]float64 `json:"metrics,omitempty"`
	// Disturbed says that the machine had no quiet moment while it measured, as its yardsticks tell.
	Disturbed bool `json:"disturbed,omitempty"`
}

// MetricResult is what a benchmark reports beside time and memory, over processes.
type MetricResult struct {
	Unit string `json:"unit"`
	Interval
}

// Mode is a level that a share of the processes settled on.
type Mode struct {
	Share     float64 `json:"share"`
	NS        float64 `json:"ns"`
	Processes int     `json:"processes"`
	// Trace says what this mode's processes compiled that the others did not.
	Trace string  `json:"trace,omitempty"`
	Seed  float64 `json:"seed"` // of one process in this mode, for replay
}

// BatchTally counts the measured batches and those kept out of the figure.
type BatchTally struct {
	Measured int `json:"measured"`
	Traced   int `json:"traced"`   // a trace was recorded inside
	Switched int `json:"switched"` // involuntary context switch inside
	Stolen   int `json:"stolen"`   // hypervisor steal around it
	Unsteady int `json:"unsteady"` // before the steady state
}

// Quiet tells how much of the time nothing slowed the machine, as yardsticks beside the batches tell.
type Quiet struct {
	Share     float64 `json:"share"`     // of the clean batches
	Disturbed bool    `json:"disturbed"` // too few processes had quiet batches, so the figure is of all
	AllNS     float64 `json:"all_ns"`    // the figure as it would be of all clean batches; 0: there are none
	// SlowerLow to SlowerHigh is by how much the yardsticks took longer in the other batches, eight of ten: 0.08 is 8 %.
	SlowerLow  float64 `json:"slower_low"`
	SlowerHigh float64 `json:"slower_high"`
}

// Slowed is by how much something may have slowed the case, 0.4 is 40 %: as its yardsticks were, or, where it was
// interrupted, by as much as the interval of its figure has room for below. 0 where quiet moments carry the figure.
func (c CaseResult) Slowed() float64 {
	if c.Quiet == nil || !c.Quiet.Disturbed {
		return 0
	}
	by := c.Quiet.SlowerHigh
	if ns := c.NSPerCall; ns != nil && ns.Low > 0 {
		by = max(by, ns.Estimate/ns.Low-1)
	}
	return by
}

// Bin is one bar of a histogram: [Low, High) in ns.
type Bin struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Count int64   `json:"count"`
}

// JITSummary is the ledger over all processes of a case: of each list the most
// common form, with counts over processes.
type JITSummary struct {
	RootTraces  float64     `json:"root_traces"` // median over processes, the case's own
	SideTraces  float64     `json:"side_traces"`
	Aborts      []Abort     `json:"aborts"`
	Blacklisted []Blacklist `json:"blacklisted"`
	Flushes     int         `json:"flushes"`
	MCodeBytes  float64     `json:"mcode_bytes"` // median
	// Compiled tells how the case ran: "compiled", "partly", "interpreted".
	Compiled string `json:"compiled"`
}

// LapsResult is the distribution of single calls, merged over processes.
type LapsResult struct {
	Count      int64        `json:"count"`
	OverheadNS Interval     `json:"overhead_ns"`
	MeanNS     float64      `json:"mean_ns"`
	Calls      *Percentiles `json:"calls,omitempty"`
	Service    *Percentiles `json:"service,omitempty"`
	Response   *Percentiles `json:"response,omitempty"`
	PerSecond  float64      `json:"per_second,omitempty"` // achieved, yielding targets
	Late       int64        `json:"late,omitempty"`
	Histogram  string       `json:"histogram,omitempty"` // HdrHistogram V2
}

// Percentiles of laps in ns.
type Percentiles struct {
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	P9999 float64 `json:"p9999"`
	Max   float64 `json:"max"`
}

// Verdicts.
const (
	Faster       = "faster"
	Slower       = "slower"
	NoDifference = "no measurable difference"
	Undecided    = "undecided"
)

// Comparison is one A/B, as a ratio B/A of times.
type Comparison struct {
	A string `json:"a"`
	B string `json:"b"`
	// Metric is what is compared, where it is not the time of a call: see [LoadResults].
	Metric string   `json:"metric,omitempty"`
	Ratio  Interval `json:"ratio"`
	// DifferenceNS is B-A in ns a call, of a run whose sides were interleaved. Where a side takes no time that can be told from
	// none there is no ratio, and the verdict is that of the difference.
	DifferenceNS *Interval `json:"difference_ns,omitempty"`
	Verdict      string    `json:"verdict"`
	Pairs        int       `json:"pairs"` // of processes that were interleaved
	// Processes are those of A and of B, where they did not take turns.
	Processes []int `json:"processes,omitempty"`
	// Smallest is the smallest relative difference that this run could have seen.
	Smallest float64 `json:"smallest,omitempty"`
	// Needs is about how many more processes, of both sides together, would decide.
	Needs       int          `json:"needs,omitempty"`
	Differences []Difference `json:"differences,omitempty"`
	Warnings    []Warning    `json:"warnings,omitempty"`
}

// Difference is something else than time that differs between the sides of a comparison,
// in words: a reason for the verdict, perhaps.
type Difference struct {
	What string `json:"what"` // "side traces", "bytes per call", …
	A    string `json:"a"`
	B    string `json:"b"`
}
