package record

// Kinds of batches of a whole command, one batch a process, beside [Measure] and [Empty],
// which hold the wall time of the command and of its empty twin. A kind "user" counts in
// Switches how often the CPU was taken away, a kind "system" how often it was given up.
const (
	Spawn       = "spawn"        // from before the fork until the program was loaded
	User        = "user"         // CPU time of the command and the children it waited for
	System      = "system"       //
	EmptyUser   = "empty_user"   // the same of the twin
	EmptySystem = "empty_system" //
)

// KindTime is the kind of a record of whole commands, [Run.Kind]; KindCommand is the runtime of its cases.
const (
	KindTime    = "time"
	KindCommand = "command"
)

// EmptyParam is the parameter of a case that holds its empty twin's command line.
const EmptyParam = "empty"

// CommandResults are the results of a run of whole commands. In the embedded results a
// command is a case and a run of it a process; their times are without the empty twin's.
type CommandResults struct {
	*Results
	Commands []CommandResult `json:"commands"`
	// Whole compares the whole commands, start-up and all, where Comparisons leaves it out.
	Whole []Comparison `json:"whole_comparisons,omitempty"`
	// CPU compares CPU time, without start-up where both have a twin. A busy machine, where
	// commands wait for a CPU, leaves it alone.
	CPU []Comparison `json:"cpu_comparisons,omitempty"`
}

// CommandResult is what a record says of one command. Figures are over its runs; nil
// where there are none.
type CommandResult struct {
	Name     string        `json:"name"`
	Empty    string        `json:"empty,omitempty"` // command line of its twin
	Runs     int           `json:"runs"`
	WallNS   *Distribution `json:"wall_ns"`
	EmptyNS  *Interval     `json:"empty_ns,omitempty"`   // the twin's wall time
	NetNS    *Interval     `json:"net_ns,omitempty"`     // the wall time without the twin's
	SpawnNS  *Interval     `json:"spawn_ns"`             // fork and exec, a part of the wall time
	CPUNS    *Interval     `json:"cpu_ns"`               // user and system
	NetCPUNS *Interval     `json:"net_cpu_ns,omitempty"` // without the twin's
	// Means, because the kernel tells the two apart by its ticks, and only their sum exactly.
	UserNS   float64 `json:"user_ns"`
	SystemNS float64 `json:"system_ns"`
	MaxRSS   int64   `json:"max_rss"` // of the hungriest run; 0: not known
	// Context switches a run, medians.
	Voluntary   float64        `json:"voluntary_switches"`
	Involuntary float64        `json:"involuntary_switches"`
	Statuses    map[string]int `json:"statuses"` // "0", "SIGKILL", … → runs
	Stdout      float64        `json:"stdout_bytes"`
	Stderr      float64        `json:"stderr_bytes"` // a run, medians
}
