package record

import "math"

// LoadResults are the results of a run of load. In the embedded results a side is a case, and its time
// a call is the mean latency, corrected.
type LoadResults struct {
	*Results
	Load  Load       `json:"load"`
	Sides []LoadSide `json:"sides"`
	// Outcome is "ok", or the first of Problems that decides the exit status.
	Outcome  string        `json:"outcome"`
	Problems []LoadProblem `json:"problems"`
	Limits   []LoadLimit   `json:"limits,omitempty"`
	// MaxRate is the highest rate that kept the limits, of a search; nil: there was none, or no search.
	MaxRate *float64 `json:"max_rate,omitempty"`
	// Hosts are the machines that made the load together; none: it was one.
	Hosts []LoadHost `json:"hosts,omitempty"`
	// Elapsed is the measured time, of all sides together.
	ElapsedNS float64 `json:"elapsed_ns"`
}

// Problems of a run of load, by code.
const (
	LoadOK              = "ok"
	LoadLimitExceeded   = "limit_exceeded"
	LoadSlower          = "slower"
	LoadRateNotReached  = "rate_not_reached"
	LoadClientSaturated = "client_saturated"
	LoadScriptError     = "script_error"
	LoadNoAnswer        = "no_answer"
	LoadErrorsSeen      = "errors"
	LoadServerDied      = "server_died"
	LoadEngineFailed    = "engine_failed"
	LoadInterrupted     = "interrupted"
	LoadFalseAlarm      = "false_alarm"
	LoadFewRequests     = "few_requests"
	LoadDisturbed       = "disturbed"
	LoadHostLost        = "host_lost"
	LoadHostsApart      = "hosts_apart"
	LoadOneMachine      = "one_machine"
)

// LoadHost is what one of several machines saw that made a load together.
type LoadHost struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"` // where its record is
	// BeganNS is how long after the first one it began, as seen from where the run was started; nil: that is not known.
	BeganNS     *float64    `json:"began_ns,omitempty"`
	Environment Environment `json:"environment"`
	Complete    bool        `json:"complete"`
	Sides       []LoadSeen  `json:"sides"`
}

// LoadSeen is what was seen of a side: by all machines together, or by one of them.
type LoadSeen struct {
	Name        string      `json:"name"`
	Requests    int64       `json:"requests"`
	Responses   int64       `json:"responses"`
	Errors      LoadErrors  `json:"errors"`
	Rate        Interval    `json:"rate"` // answers a second, with an interval over time
	OfferedRate float64     `json:"offered_rate,omitempty"`
	LatencyNS   LoadLatency `json:"latency_ns"` // corrected
	Client      LoadClient  `json:"client"`
}

// LoadProblem is what went wrong in a run, or makes its figures doubtful, in words.
type LoadProblem struct {
	Code   string `json:"code"`
	Side   string `json:"side,omitempty"` // "": of all
	Text   string `json:"text"`
	Advice string `json:"advice,omitempty"`
	// Decides says that the exit status follows from it.
	Decides bool `json:"decides,omitempty"`
}

// LoadLimit is a threshold and what was measured.
type LoadLimit struct {
	Limit    string  `json:"limit"` // "p99>10ms"
	Side     string  `json:"side"`
	Value    float64 `json:"value"`
	Exceeded bool    `json:"exceeded"`
}

// LoadSide is what a record says of one side.
type LoadSide struct {
	LoadSeen
	URL       string       `json:"url"`
	Bytes     int64        `json:"bytes"`
	ElapsedNS float64      `json:"elapsed_ns"`        // that this side ran
	Offered   int64        `json:"offered,omitempty"` // requests that became due, in open loop
	RawNS     LoadLatency  `json:"raw_latency_ns"`    // from the moment of sending
	Server    *LoadServer  `json:"server,omitempty"`
	Tags      []LoadTagged `json:"tags,omitempty"`
	Quiet     *Quiet       `json:"quiet,omitempty"` // nil where no yardstick was timed
	Series    []LoadPoint  `json:"series"`
	Histogram string       `json:"histogram,omitempty"` // corrected, HdrHistogram V2
	RawCounts string       `json:"raw_histogram,omitempty"`
}

// LoadLatency are percentiles in ns.
type LoadLatency struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean"`
	Stdev float64 `json:"stdev"`
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P75   float64 `json:"p75"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p99_9"`
	P9999 float64 `json:"p99_99"`
	Max   float64 `json:"max"`
}

// LoadServer is what the server's processes used.
type LoadServer struct {
	CPUPerRequestNS Interval `json:"cpu_ns_per_request"`
	CPUShare        float64  `json:"cpu_share"` // of one processor
}

// LoadClient says how far the client can be trusted.
type LoadClient struct {
	CPUPerRequestNS float64 `json:"cpu_ns_per_request"`
	CPUShare        float64 `json:"cpu_share"` // of one processor for each thread, 0…1
	LoopLagP99NS    float64 `json:"loop_lag_p99_ns"`
	LoopLagMaxNS    float64 `json:"loop_lag_max_ns"`
	// XROverN is Little's law: answers a second times mean latency, raw, over connections. In closed loop it is 1 where
	// no waiting is left out of the latencies.
	XROverN   float64 `json:"xr_over_n"`
	Saturated bool    `json:"saturated"`
	// Verdict says in words whether the client or the server made the tail.
	Verdict string `json:"verdict"`
}

// LoadTagged is what requests of one tag took.
type LoadTagged struct {
	Name      string      `json:"name"`
	Count     int64       `json:"count"`
	Errors    int64       `json:"errors"`
	LatencyNS LoadLatency `json:"latency_ns"`
}

// LoadPoint is a stretch of time of one side.
type LoadPoint struct {
	AtNS      float64 `json:"at_ns"`
	NS        float64 `json:"ns"`
	Responses int64   `json:"responses"`
	Errors    int64   `json:"errors"`
	Rate      float64 `json:"rate"`
	Offered   float64 `json:"offered_rate,omitempty"`
	P50       float64 `json:"p50_ns"`
	P99       float64 `json:"p99_ns"`
	Max       float64 `json:"max_ns"`
	// Heat counts latencies by how long they are: see [HeatAt].
	Heat []int64 `json:"-"`
	// Histogram is all of them, HdrHistogram V2; only in the NDJSON series.
	Histogram string `json:"histogram,omitempty"`
}

// Cells of [LoadPoint.Heat]: N for a factor of ten, the first at heatFirst ns.
const (
	heatPerDecade = 12
	heatFirst     = 1e3
)

// HeatAt is the cell that a latency falls into.
func HeatAt(ns float64) int {
	return max(0, int(math.Floor(heatPerDecade*math.Log10(max(ns, 1)/heatFirst))))
}

// HeatFrom is where a cell begins, ns.
func HeatFrom(cell int) float64 { return heatFirst * math.Pow(10, float64(cell)/heatPerDecade) }
