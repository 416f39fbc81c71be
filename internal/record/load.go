package record

import "fmt"

// KindLoad is the kind of a record of load, [Run.Kind].
const KindLoad = "load"

// RuntimeHTTP is the runtime of the cases of such a record: a side is a case.
const RuntimeHTTP = "http"

// Load is the plan of a run of load, behind the cases, which are its sides.
type Load struct {
	URLs        []string    `json:"urls"` // by side
	Threads     int         `json:"threads"`
	Connections int         `json:"connections"` // of each side
	DurationNS  float64     `json:"duration_ns"` // at most
	Requests    int64       `json:"requests,omitempty"`
	Rate        float64     `json:"rate,omitempty"`     // requests a second of a side that runs; 0: closed loop
	Arrivals    string      `json:"arrivals,omitempty"` // "constant", "poisson"
	Stages      []LoadStage `json:"stages,omitempty"`
	SliceNS     float64     `json:"slice_ns"` // 0: the engine chooses, see LoadBegin
	WarmupNS    float64     `json:"warmup_ns"`
	TimeoutNS   float64     `json:"timeout_ns"`
	Protocol    string      `json:"protocol"`
	Pipeline    int         `json:"pipeline,omitempty"`
	Script      string      `json:"script,omitempty"`
	// Metrics are what sides are compared by, and Gates how much slower each may be: see LoadMetrics.
	Metrics []string           `json:"metrics,omitempty"`
	Gates   map[string]float64 `json:"gates,omitempty"`
	// Limits are thresholds as the user wrote them: "p99>10ms".
	Limits []string `json:"limits,omitempty"`
	// Searching says that the sides are steps of a search for the highest rate.
	Searching bool `json:"searching,omitempty"`
	// Machines is how many records were joined; 0: this is one machine's.
	Machines int `json:"machines,omitempty"`
	// SelfTest says that all sides are the same, to see whether the comparison cries wolf.
	SelfTest bool `json:"self_test,omitempty"`
	// ServerPIDs are the server's processes whose CPU time was read, by side.
	ServerPIDs [][]int `json:"server_pids,omitempty"`
}

// A LoadStage is a stretch of time with a rate, or a ramp to it.
type LoadStage struct {
	Rate       float64 `json:"rate"`
	DurationNS float64 `json:"duration_ns"`
	// From is the rate that a ramp begins at; nil: the stage has one rate.
	From *float64 `json:"from,omitempty"`
}

// LoadErrors count what went wrong, by kind. Status and Check count answers, the others requests without one.
type LoadErrors struct {
	Connect  int64 `json:"connect"` // no connection for another reason than refused
	Refused  int64 `json:"refused"`
	Reset    int64 `json:"reset"`
	Timeout  int64 `json:"timeout"`
	TLS      int64 `json:"tls"`
	Protocol int64 `json:"protocol"`
	Check    int64 `json:"check"`  // check(response) of the script said no
	Status   int64 `json:"status"` // 400 and above
	Script   int64 `json:"script"` // a hook threw, or returned no request
	Read     int64 `json:"read"`   // other failures of a connection
	Write    int64 `json:"write"`
}

// Add adds another count.
func (e *LoadErrors) Add(o LoadErrors) {
	e.Connect += o.Connect
	e.Refused += o.Refused
	e.Reset += o.Reset
	e.Timeout += o.Timeout
	e.TLS += o.TLS
	e.Protocol += o.Protocol
	e.Check += o.Check
	e.Status += o.Status
	e.Script += o.Script
	e.Read += o.Read
	e.Write += o.Write
}

// Unanswered are requests, or attempts to connect, that came to nothing.
func (e LoadErrors) Unanswered() int64 {
	return e.Connect + e.Refused + e.Reset + e.Timeout + e.TLS + e.Protocol + e.Script + e.Read + e.Write
}

// Total counts all.
func (e LoadErrors) Total() int64 { return e.Unanswered() + e.Check + e.Status }

// LoadThread is the first line of a thread of the engine: it is connected and ready.
type LoadThread struct {
	Thread      int    `json:"thread"`
	PID         int    `json:"pid,omitempty"`
	VM          string `json:"vm,omitempty"`
	Connections int    `json:"connections"`        // of each side
	Compiled    *bool  `json:"compiled,omitempty"` // false: the JIT is off
	// Machine numbers the record that the line was joined from; so in the lines below.
	Machine int `json:"machine,omitempty"`
}

// LoadBegin says when the first slice began, by CLOCK_MONOTONIC.
type LoadBegin struct {
	AtNS    float64 `json:"at_ns"`
	SliceNS float64 `json:"slice_ns,omitempty"` // how long a slice is
	Machine int     `json:"machine,omitempty"`
}

// LoadSlice is what one thread saw while one side ran for a moment. All histograms are HdrHistogram V2 in base64.
type LoadSlice struct {
	Thread  int     `json:"thread"`
	Machine int     `json:"machine,omitempty"`
	Side    int     `json:"side"`
	Slice   int     `json:"slice"`
	Block   int     `json:"block"` // the sides of a block ran in balanced, random order
	Warmup  bool    `json:"warmup,omitempty"`
	AtNS    float64 `json:"at_ns"`
	NS      float64 `json:"ns"`                 // with the drain
	DrainNS float64 `json:"drain_ns,omitempty"` // nothing more was sent, as another side came next

	Requests  int64      `json:"requests"`
	Responses int64      `json:"responses"`
	Bytes     int64      `json:"bytes"`
	Offered   float64    `json:"offered,omitempty"` // open loop: requests that became due
	Unsent    int64      `json:"unsent,omitempty"`  // due at the end of the run, and never sent
	Late      int64      `json:"late,omitempty"`    // sent more than 1 ms after they were due
	Errors    LoadErrors `json:"errors"`

	CPUNS  float64 `json:"cpu_ns"`            // of the thread
	SpunNS float64 `json:"spun_ns,omitempty"` // of that: it only asked whether there was an answer
	// ServerCPUNS is what the server's processes used meanwhile; nil where that is not known, or another thread says it.
	ServerCPUNS *float64 `json:"server_cpu_ns,omitempty"`
	SumNS       float64  `json:"sum_latency_ns"` // of Raw, exact
	LagP99NS    float64  `json:"lag_p99_ns,omitempty"`
	LagMaxNS    float64  `json:"lag_max_ns,omitempty"`
	// StopsNS is how long the thread was away, each time that this was more than 1 ms: it slept on, or a turn took as long.
	StopsNS    []float64 `json:"stops_ns,omitempty"`
	Latency    string    `json:"latency,omitempty"` // corrected
	Raw        string    `json:"raw,omitempty"`     // from the first byte sent to the last received
	ExpectedNS float64   `json:"expected_ns,omitempty"`
	Connects   int64     `json:"connects,omitempty"`
	ConnectNS  float64   `json:"connect_ns,omitempty"`
	Resumed    int64     `json:"resumed,omitempty"`

	Tags []LoadTag `json:"tags,omitempty"`

	// Yardsticks are what fixed pieces of work took while the slice ran, by kind in ns, of each kind as many; nil where another
	// thread's slice tells it, or where there are none.
	Yardsticks map[string][]float64 `json:"yardsticks,omitempty"`
}

// A LoadTag is what a script's requests of one name took.
type LoadTag struct {
	Name    string `json:"name"`
	Count   int64  `json:"count"`
	Errors  int64  `json:"errors,omitempty"`
	Latency string `json:"latency,omitempty"`
}

// LoadError is an error in words.
type LoadError struct {
	Thread  int    `json:"thread"`
	Machine int    `json:"machine,omitempty"`
	Side    int    `json:"side"`
	Kind    string `json:"kind"` // as in LoadErrors
	Text    string `json:"text"`
	Count   int64  `json:"count"`
}

// LoadScript says that the user's script failed.
type LoadScript struct {
	Thread  int    `json:"thread"` // -1: the main state
	Machine int    `json:"machine,omitempty"`
	Side    int    `json:"side"`
	Hook    string `json:"hook"` // "load", "init", "request", …
	Kind    string `json:"kind"` // "error", "exit", "hang", "memory", "crash"
	Text    string `json:"text"`
	Source
	Status *int `json:"status,omitempty"` // of os.exit
}

// Why a run of load stopped.
const (
	LoadStopDuration    = "duration"
	LoadStopRequests    = "requests"
	LoadStopScript      = "script"
	LoadStopInterrupted = "interrupted"
	LoadStopError       = "error"
)

// LoadDone is the last line of a healthy engine.
type LoadDone struct {
	Machine     int     `json:"machine,omitempty"`
	Stop        string  `json:"stop"`
	ElapsedNS   float64 `json:"elapsed_ns"`
	ThreadsLost int     `json:"threads_lost,omitempty"`
	Switches    int64   `json:"switches,omitempty"` // involuntary, of all threads
	Text        string  `json:"text,omitempty"`     // why, where it stopped for an error
	Status      *int    `json:"status,omitempty"`   // of os.exit in a script
}

func (Load) Type() string       { return "load" }
func (LoadThread) Type() string { return "load_thread" }
func (LoadBegin) Type() string  { return "load_begin" }
func (LoadSlice) Type() string  { return "load_slice" }
func (LoadError) Type() string  { return "load_error" }
func (LoadScript) Type() string { return "load_script" }
func (LoadDone) Type() string   { return "load_done" }

// LoadRecord is what a record of load holds beside its cases.
type LoadRecord struct {
	Plan    *Load // nil: it was cut off before
	Threads []LoadThread
	Begun   []LoadBegin // one an engine
	Slices  []LoadSlice
	Errors  []LoadError
	Scripts []LoadScript
	Done    []LoadDone // one an engine
}

// SliceNS is how long a slice is: as planned, or as the engine chose; 0 where neither is known.
func (r *LoadRecord) SliceNS() float64 {
	switch {
	case r.Plan != nil && r.Plan.SliceNS > 0:
		return r.Plan.SliceNS
	case len(r.Begun) > 0:
		return r.Begun[0].SliceNS
	}
	return 0
}

// add files a line; false where it is none of load's.
func (r *LoadRecord) add(l Line) bool {
	switch l := l.(type) {
	case Load:
		r.Plan = &l
	case LoadThread:
		r.Threads = append(r.Threads, l)
	case LoadBegin:
		r.Begun = append(r.Begun, l)
	case LoadSlice:
		r.Slices = append(r.Slices, l)
	case LoadError:
		r.Errors = append(r.Errors, l)
	case LoadScript:
		r.Scripts = append(r.Scripts, l)
	case LoadDone:
		r.Done = append(r.Done, l)
	default:
		return false
	}
	return true
}

// checkLoadSlice tells what is wrong with a slice.
func checkLoadSlice(s LoadSlice) string {
	switch {
	case s.Side < 0 || s.Thread < 0 || s.Block < 0:
		return "a slice of a side, thread or block below 0"
	case s.NS < 0 || s.Responses < 0 || s.Requests < 0:
		return "a slice with a negative time or number of requests"
	case endless(s.AtNS, s.NS, s.DrainNS, s.Offered, s.CPUNS, s.SumNS, s.LagP99NS, s.LagMaxNS, s.ExpectedNS, s.ConnectNS), endless(s.StopsNS...),
		s.ServerCPUNS != nil && endless(*s.ServerCPUNS):
		return "a slice with a time of more than 30 years"
	}
	count := -1
	for kind, times := range s.Yardsticks {
		if count >= 0 && len(times) != count {
			return fmt.Sprintf("a slice with %d times of the yardstick %q and %d of another; they are timed together", len(times), kind, count)
		}
		count = len(times)
		for _, ns := range times {
			if ns < 0 || endless(ns) {
				return fmt.Sprintf("the yardstick %q took %g ns", kind, ns)
			}
		}
	}
	return ""
}
