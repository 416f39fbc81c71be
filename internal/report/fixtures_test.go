package report

import (
	"math"

	"github.com/moonlap/moonlap/internal/record"
)

// The results that the golden tests draw, built by hand so that each shows one thing.

func ptr[T any](x T) *T { return &x }

func machine() record.Results {
	return record.Results{
		Schema: record.Schema, Kind: "bench", Seed: 8251477310297, Complete: true,
		Environment: record.Environment{
			OS: "linux", Arch: "amd64", Kernel: "6.1.0-28-amd64", CPU: "AMD EPYC 7763 64-Core Processor",
			Cores: 2, Virtualization: "kvm", Load: []float64{1.234, 1, 1}, StealPercent: ptr(0.31),
		},
		Runtime: &record.Runtime{Kind: "nginx", Path: "/usr/sbin/nginx", Version: "nginx version: nginx/1.22.1"},
		VMs: []record.VM{{
			Version: "LuaJIT 2.1.0-beta3", Build: "luajit2 20220411", Library: "/usr/lib/x86_64-linux-gnu/libluajit-5.1.so.2",
			Arch: "x64", GC64: true, JIT: true,
			Opt: []string{"SSE3", "SSE4.1", "BMI2", "fold", "cse", "dce", "fwd", "dse", "narrow", "loop", "abc", "sink", "fuse"},
		}},
		Nginx: &record.Nginx{Version: "1.22.1", LuaModule: "0.10.23", Phase: "timer", Process: "worker"},
		Clock: &record.Clock{Source: "tsc", StepNS: 10, CostNS: 9.62, Compiled: true},
	}
}

func plain(number int, name string, ns float64) record.CaseResult {
	c := record.CaseResult{
		Name: name,
		Case: record.Case{Case: number, Name: name, Benchmark: name, File: "examples/re_find.lua", Line: 8 + number, GC: "natural"},
		NSPerCall: &record.Distribution{
			Interval: record.Interval{Estimate: ns, Low: ns * 0.991, High: ns * 1.012},
			Min:      ns * 0.98, P50: ns * 1.003, P90: ns * 1.03, P99: ns * 1.11, Max: ns * 3.4,
		},
		EmptyNS:      &record.Interval{Estimate: 0.31, Low: 0.3, High: 0.33},
		BytesPerCall: ptr(0.0), Processes: 10, Steady: record.SteadyWarmup,
		JIT:     record.JITSummary{RootTraces: 1, SideTraces: 2, MCodeBytes: 3128, Compiled: "compiled"},
		Bins:    humps(ns*0.98, ns*0.01, 3, 40, 212, 301, 180, 66, 21, 8, 3, 1, 0, 0, 0, 0, 1),
		Batches: record.BatchTally{Measured: 1250, Traced: 9, Switched: 31, Stolen: 4, Unsteady: 120},
	}
	for i := range 10 {
		c.PerProcess = append(c.PerProcess, record.ProcessResult{Process: i, NS: ns * (1 + 0.001*float64(i))})
	}
	return c
}

// humps are bins of equal width.
func humps(low, width float64, counts ...int64) []record.Bin {
	var bins []record.Bin
	for i, n := range counts {
		bins = append(bins, record.Bin{Low: low + float64(i)*width, High: low + float64(i+1)*width, Count: n})
	}
	return bins
}

func ordinary() *record.Results {
	r := machine()
	a, b := plain(0, "re.find/cached=true", 140.23), plain(1, "re.find/cached=false", 163.7)
	b.BytesPerCall = ptr(31.98)
	b.GCShare = &record.Interval{Estimate: 0.042, Low: 0.03, High: 0.055}
	c := plain(2, "table.insert through a metatable with a long explanation/size=100000/how=ipairs", 1.84e6)
	c.BytesPerCall = ptr(2.1e6)
	c.JIT = record.JITSummary{Compiled: "partly", RootTraces: 1, Flushes: 1, MCodeBytes: 900,
		Aborts:      []record.Abort{{Source: record.Source{File: "examples/re_find.lua", Line: 12}, Reason: "NYI: bytecode FNEW", NYI: "FNEW", Count: 2}},
		Blacklisted: []record.Blacklist{{Source: record.Source{File: "examples/re_find.lua", Line: 11}, What: "loop"}}}
	d := plain(3, "empty", 0.02)
	d.NSPerCall.Interval = record.Interval{Estimate: 0.02, Low: -0.28, High: 0.3}
	d.JIT = record.JITSummary{Compiled: "interpreted"}
	few := record.Warning{Code: "few_processes", Text: "10 processes see a mode of 1 in 6 in 84 % of runs.", Advice: "Raise --time or --processes to find rarer ones."}
	dead := record.Warning{Code: "dead_code", Text: "It takes no more time than an empty function: the compiler may have removed its work.", Advice: "Return the result, hand it to moonlap.keep(x), or vary the input."}
	a.Warnings, b.Warnings, c.Warnings = []record.Warning{few}, []record.Warning{few}, []record.Warning{few}
	d.Warnings = []record.Warning{few, dead}
	r.Warnings = []record.Warning{{Code: "no_counters", Text: "This virtual machine offers no hardware counters.", Advice: "Run on bare metal to see instructions."}}
	r.Cases = []record.CaseResult{a, b, c, d}
	return &r
}

func withModes() *record.Results {
	r := machine()
	c := plain(0, "roulette", 6.3)
	c.Processes = 30
	c.Modes = []record.Mode{
		{Share: 25.0 / 30, NS: 6.3, Processes: 25, Seed: 4503599627370495},
		{Share: 5.0 / 30, NS: 8.8, Processes: 5, Trace: "side trace of 3 at examples/roulette.lua:8 stays in the rare branch", Seed: 1234567890123},
	}
	c.Bins = humps(6.2, 0.2, 300, 410, 37, 1, 0, 0, 0, 0, 0, 0, 0, 0, 90, 60, 4)
	r.Cases = []record.CaseResult{c}
	return &r
}

func noFigures() *record.Results {
	r := machine()
	r.Complete = false
	never := plain(0, "growing table", 20)
	never.NSPerCall, never.Steady, never.Processes = nil, record.SteadyNone, 10
	never.PerProcess[4].NS = 41.7
	failed := plain(1, "broken", 20)
	failed.NSPerCall, failed.PerProcess, failed.Bins, failed.BytesPerCall = nil, nil, nil, nil
	failed.Processes, failed.Failed, failed.Steady, failed.JIT, failed.Batches = 0, 3, "", record.JITSummary{}, record.BatchTally{}
	for i := range 3 {
		failed.Faults = append(failed.Faults, record.Fault{
			In: record.In{Process: i}, Case: 1, Kind: record.FaultError, Stage: "run", Call: 1000,
			Text: "bench.lua:7: attempt to index local 'x' (a nil value)", Source: record.Source{File: "bench.lua", Line: 7}})
	}
	r.Cases = []record.CaseResult{never, failed, plain(2, "healthy", 12)}
	r.Cases[0].Warnings = []record.Warning{{Code: "never_steady", Text: "It never reached a steady state in 7 of 10 processes.", Advice: "Look for state that grows from call to call, and reset it in setup."}}
	return &r
}

func everyFault() *record.Results {
	r := machine()
	r.Complete = false
	at := record.Source{File: "bench.lua", Line: 3}
	for i, f := range []record.Fault{
		{Kind: record.FaultError, Stage: "check", Text: "bench.lua:3: 41 is not 42", Source: at},
		{Kind: record.FaultTimeout, Stage: "run", Text: "no end after 30s", Source: at},
		{Kind: record.FaultCrash, Stage: "run", Text: "signal 11 (SIGSEGV)"},
		{Kind: record.FaultExit, Text: "os.exit(3)", Source: at},
		{Kind: record.FaultMemory, Stage: "run", Text: "not enough memory"},
		{Kind: record.FaultStart, Text: "nginx: [emerg] unknown directive \"lua_shared_dictt\" in /tmp/moonlap/nginx.conf:12\n"},
		{Kind: record.FaultChannel, Text: "process 4:19: not a line of a record: \"\x1b[31mhello\""},
	} {
		c := plain(i, f.Kind, 10)
		f.Case = i
		c.Faults, c.Failed = []record.Fault{f}, 1
		r.Cases = append(r.Cases, c)
	}
	return &r
}

func withLaps() *record.Results {
	r := machine()
	calls := plain(0, "re.find", 140)
	calls.Laps = &record.LapsResult{
		Count: 2500000, OverheadNS: record.Interval{Estimate: 9.62, Low: 9.4, High: 10}, MeanNS: 151.2,
		Calls: &record.Percentiles{Min: 130, P50: 140, P90: 144, P99: 190, P999: 2310, P9999: 18200, Max: 151000}}
	calls.Bins = append(humps(130, 5, 900, 2100000, 380000, 11000, 2000, 700, 100, 50), record.Bin{Low: 170, High: 151001, Count: 3250})
	open := plain(1, "redis get", 0)
	open.NSPerCall = nil
	open.Case.Rate, open.Case.Concurrency = 10000, 32
	open.Laps = &record.LapsResult{Count: 100000, MeanNS: 4.1e5, PerSecond: 9950, Late: 1660,
		Service:  &record.Percentiles{Min: 2.1e5, P50: 3.9e5, P90: 4.4e5, P99: 9.1e5, P999: 2e6, P9999: 9.6e6, Max: 1.2e7},
		Response: &record.Percentiles{Min: 2.1e5, P50: 4e5, P90: 5.1e5, P99: 2.1e6, P999: 8e6, P9999: 2.1e7, Max: 3.12e7}}
	open.Bins = nil
	for x := 1e5; x < 6e7; x *= 2 {
		open.Bins = append(open.Bins, record.Bin{Low: x, High: 2 * x, Count: int64(90000 / (1 + math.Abs(math.Log2(x/4e5)*40)))})
	}
	r.Cases = []record.CaseResult{calls, open}
	return &r
}

func withWorkers() *record.Results {
	r := machine()
	for i, w := range []struct {
		n  int
		ns float64
	}{{4, 1310}, {1, 310}, {2, 402}} {
		c := plain(i, "shared dict incr/workers="+string(rune('0'+w.n)), w.ns)
		c.Case.Benchmark, c.Case.Workers = "shared dict incr", w.n
		c.Case.File, c.Case.Line = "examples/shared_dict.lua", 5
		r.Cases = append(r.Cases, c)
	}
	return &r
}

func withComparisons() *record.Results {
	r := machine()
	r.Kind = "compare"
	r.Comparisons = []record.Comparison{
		{A: "concat/how=..", B: "concat/how=table", Ratio: record.Interval{Estimate: 1.0312, Low: 1.0244, High: 1.0379}, Verdict: record.Slower, Pairs: 12,
			Differences: []record.Difference{{What: "side traces", A: "1", B: "4"}, {What: "aborts", A: "none", B: "NYI: bytecode FNEW"}}},
		{A: "globals", B: "locals", Ratio: record.Interval{Estimate: 0.512, Low: 0.487, High: 0.531}, Verdict: record.Faster, Pairs: 8},
		{A: "ctx", B: "var", Ratio: record.Interval{Estimate: 1.0003, Low: 0.9921, High: 1.0061}, Verdict: record.NoDifference, Pairs: 24, Smallest: 0.011},
		{A: "a case with a very long name indeed/size=100000/how=one", B: "a case with a very long name indeed/size=100000/how=two",
			Ratio: record.Interval{Estimate: 1.01, Low: 0.979, High: 1.034}, Verdict: record.Undecided, Pairs: 6, Smallest: 0.02, Needs: 37},
	}
	return &r
}

func oneProcess() *record.Results {
	r := machine()
	r.Runtime = &record.Runtime{Kind: "luajit", Path: "/usr/bin/luajit", Version: "LuaJIT 2.1.0-beta3"}
	r.Nginx = nil
	c := plain(0, "add", 0.283)
	c.Processes, c.PerProcess = 1, c.PerProcess[:1]
	c.NSPerCall.Interval = record.Interval{Estimate: 0.283, Low: 0.283, High: 0.283}
	c.Steady, c.Batches = record.SteadyFlat, record.BatchTally{Measured: 400}
	c.Bins = []record.Bin{{Low: 0.283, High: 0.283, Count: 400}}
	c.Warnings = []record.Warning{{Code: "one_process", Text: "One process is one sample: the interval between processes is not known.", Advice: "Raise --processes."}}
	r.Cases = []record.CaseResult{c}
	return &r
}

func manyCases() *record.Results {
	r := machine()
	for i := range 9 {
		r.Cases = append(r.Cases, plain(i, "case/n="+string(rune('1'+i)), math.Pow(7, float64(i))))
	}
	r.Cases[4].Modes = withModes().Cases[0].Modes
	return &r
}
