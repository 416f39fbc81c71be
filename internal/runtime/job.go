package runtime

import (
	"fmt"
	"strconv"
	"strings"
)

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

	Untimed bool // of a [Program]: the run warms up, and does not count

	MeasureNS   float64
	WarmupNS    float64 // at most
	TimeoutNS   float64
	BatchNS     float64
	MemoryBytes int64
	Slowdown    float64 // share of its time that each batch spins on: for proving a gate
	Clock       string  // "auto", "tsc", "monotonic"
	JIT         string  // "", "off", or jit.opt flags: "hotloop=10,-fold"
}

// Lua returns the job as Lua source, `return {…}`: the other side needs no parser
// for that. Strings keep all their bytes.
func (j Job) Lua() string {
	var t luaTable
	t.text("mode", j.Mode)
	t.text("file", j.File)
	t.list("code", j.Code)
	t.text("setup", j.Setup)
	t.list("args", j.Args)
	t.number("process", float64(j.Process))
	t.number("case", float64(j.Case))
	t.number("index", float64(j.Index))
	t.text("name", j.Name)
	t.number("round", float64(j.Round))
	t.number("seed", j.Seed)
	t.text("gc", j.GC)
	if j.Laps {
		t.field("laps", "true")
	}
	t.number("lap_count", float64(j.LapCount))
	t.number("concurrency", float64(j.Concurrency))
	t.number("rate", j.Rate)
	t.number("workers", float64(j.Workers))
	t.text("phase", j.Phase)
	t.number("measure_ns", j.MeasureNS)
	t.number("warmup_ns", j.WarmupNS)
	t.number("timeout_ns", j.TimeoutNS)
	t.number("batch_ns", j.BatchNS)
	t.number("memory_bytes", float64(j.MemoryBytes))
	t.number("slowdown", j.Slowdown)
	t.text("clock", j.Clock)
	t.text("jit", j.JIT)
	return "return {" + strings.Join(t, ", ") + "}"
}

// A luaTable collects the fields of a table constructor.
type luaTable []string

func (t *luaTable) field(key, value string) {
	*t = append(*t, key+" = "+value)
}

func (t *luaTable) text(key, value string) {
	if value != "" {
		t.field(key, quoteLua(value))
	}
}

func (t *luaTable) number(key string, value float64) {
	if value != 0 {
		t.field(key, strconv.FormatFloat(value, 'g', -1, 64))
	}
}

func (t *luaTable) list(key string, values []string) {
	if len(values) == 0 {
		return
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quoteLua(v)
	}
	t.field(key, "{"+strings.Join(quoted, ", ")+"}")
}

// quoteLua returns s as a Lua string literal of printable ASCII on one line. Braces
// are escaped too, so that the literal can stand in an nginx configuration without
// leaning on nginx's idea of Lua strings.
func quoteLua(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c > '~' || strings.IndexByte(`"\{}`, c) >= 0:
			fmt.Fprintf(&b, `\%03d`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
