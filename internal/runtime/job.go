package runtime

import "reflect"

// Modes of a job.
const (
	ModeList    = "list"    // say which cases the bench file declares
	ModeMeasure = "measure" // measure one case
	ModeRun     = "run"     // run a plain script
)

// PhaseTimer is the nginx phase in which a job runs unless it asks for another.
const PhaseTimer = "timer"

// A Job is what a fresh VM is told to do. The keys on the Lua side are the field
// names in snake_case; fields with their zero value are left out.
type Job struct {
	Mode  string
	File  string   // bench file or script
	Code  []string // code in place of a file; of a script, the one chunk
	Setup string   // code that runs before Code, untimed
	Args  []string // the script's arguments

	Process int    // number in the record
	Case    int    // number in the record
	Index   int    // number in the bench file
	Name    string // of the case, or of the chunk in Code
	Round   int
	Seed    float64 // a whole number below 2^53

	GC          string
	Laps        bool
	LapCount    int // laps a process; 0 is by time
	Concurrency int
	Rate        float64 // calls a second
	Workers     int     // nginx workers that do the job at once; 0 is 1
	Phase       string  // nginx phase; "" is PhaseTimer

	Untimed bool `lua:"-"` // of a [Program]: the run warms up, and does not count

	MeasureNS   float64
	WarmupNS    float64 // at most
	TimeoutNS   float64
	BatchNS     float64
	MemoryBytes int64
	Slowdown    float64 // share of its time that each batch spins on: for proving a gate
	Clock       string  // "auto", "tsc", "monotonic"
	JIT         string  // "", "off", or jit.opt flags: "hotloop=10,-fold"
}

// Lua returns the job as Lua source, `return {…}`. Strings keep all their bytes.
func (j Job) Lua() string { return "return " + luaSource(reflect.ValueOf(j)) }
