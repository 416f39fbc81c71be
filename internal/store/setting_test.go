package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/moonlap/moonlap/internal/record"
)

func settingOf(change func(*record.Run, *record.Runtime, *record.Case, *record.Process)) []record.Fact {
	run := record.Run{Seed: 1, Started: "2026-11-21T00:00:00Z", Environment: record.Environment{
		Machine: "0123456789abcdef", CPU: "Xeon", Cores: 2, Arch: "amd64", OS: "linux", Kernel: "6.1", Governor: "performance",
		ASLR: "on", Load: []float64{1, 2, 3}, MemoryBytes: 1 << 30, GitCommit: "abc",
	}}
	runtime := record.Runtime{Kind: "nginx", Version: "nginx/1.22.1", OpenResty: "1.21"}
	c := record.Case{Case: 0, Name: "a", GC: "natural", Phase: "content", Workers: 2, Concurrency: 4, Rate: 1.5}
	p := record.Process{Seed: 3, VM: record.VM{Version: "LuaJIT 2.1", Build: "luajit2", Arch: "x64", GC64: true, JIT: true,
		Opt: []string{"fold", "cse"}, Params: map[string]float64{"maxtrace": 1000, "hotloop": 56}}, Clock: record.Clock{Source: "tsc"}}
	change(&run, &runtime, &c, &p)
	return setting(&record.Record{
		Run: run, Runtime: &runtime, Cases: []record.Case{c}, Processes: []*record.ProcessRecord{{Process: p}},
	}, c)
}

func same(*record.Run, *record.Runtime, *record.Case, *record.Process) {}

// What a figure depends on makes a difference, what changes from run to run makes none.
func TestSettingsDiffer(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*record.Run, *record.Runtime, *record.Case, *record.Process)
		want   []record.Difference
	}{
		{"load, memory, seeds, commit", func(r *record.Run, _ *record.Runtime, c *record.Case, p *record.Process) {
			r.Environment.Load, r.Environment.MemoryBytes, r.Environment.GitCommit = nil, 1<<31, "def"
			r.Seed, p.Seed, p.Round, c.Line = 2, 4, 5, 6
		}, nil},
		{"another machine", func(r *record.Run, _ *record.Runtime, _ *record.Case, _ *record.Process) {
			r.Environment.Machine, r.Environment.CPU = "fedcba9876543210", "Z80"
		}, []record.Difference{{What: "machine", A: "0123456789abcdef", B: "fedcba9876543210"}, {What: "cpu", A: "Xeon", B: "Z80"}}},
		{"nobody knows the governor", func(r *record.Run, _ *record.Runtime, _ *record.Case, _ *record.Process) {
			r.Environment.Governor = ""
		}, []record.Difference{{What: "governor", A: "performance", B: "unknown"}}},
		{"turbo is known", func(r *record.Run, _ *record.Runtime, _ *record.Case, _ *record.Process) {
			r.Environment.Turbo = "on"
		}, []record.Difference{{What: "turbo", A: "unknown", B: "on"}}},
		{"another build", func(_ *record.Run, r *record.Runtime, _ *record.Case, p *record.Process) {
			r.OpenResty, p.VM.Build = "1.25", ""
		}, []record.Difference{{What: "OpenResty", A: "1.21", B: "1.25"}, {What: "VM build", A: "luajit2", B: "unknown"}}},
		{"JIT options", func(_ *record.Run, _ *record.Runtime, _ *record.Case, p *record.Process) {
			p.VM.JIT, p.VM.Opt, p.VM.Params = false, p.VM.Opt[:1], map[string]float64{"hotloop": 5, "maxtrace": 1000}
		}, []record.Difference{{What: "JIT", A: "true", B: "false"}, {What: "jit.opt", A: "fold cse", B: "fold"},
			{What: "jit parameters", A: "hotloop=56 maxtrace=1000", B: "hotloop=5 maxtrace=1000"}}},
		{"another way to measure", func(_ *record.Run, _ *record.Runtime, c *record.Case, p *record.Process) {
			c.Phase, c.Workers, c.GC, c.Rate, p.Clock.Source = "log", 1, "full", 0, "monotonic"
		}, []record.Difference{{What: "phase", A: "content", B: "log"}, {What: "workers", A: "2", B: "1"}, {What: "gc", A: "natural", B: "full"},
			{What: "rate", A: "1.5", B: "unknown"}, {What: "clock", A: "tsc", B: "monotonic"}}},
		{"Go", func(_ *record.Run, _ *record.Runtime, _ *record.Case, p *record.Process) {
			p.VM = record.VM{Version: "LuaJIT 2.1", Build: "luajit2", Arch: "x64", GOMAXPROCS: 2}
		}, []record.Difference{{What: "GC64", A: "true", B: "unknown"}, {What: "JIT", A: "true", B: "unknown"}, {What: "jit.opt", A: "fold cse", B: "unknown"},
			{What: "jit parameters", A: "hotloop=56 maxtrace=1000", B: "unknown"}, {What: "GOMAXPROCS", A: "unknown", B: "2"}}},
	} {
		if diff := cmp.Diff(c.want, Differ(settingOf(same), settingOf(c.change))); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}
