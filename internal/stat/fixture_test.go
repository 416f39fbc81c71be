package stat

import (
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/stattest"
)

// newRecord is a whole record of one case, yet without processes.
func newRecord() *record.Record {
	return &record.Record{
		Run:   record.Run{Schema: record.Schema, Kind: "bench", Seed: 1, Environment: record.Environment{OS: "linux", Cores: 4}},
		Cases: []record.Case{{Name: "case", Benchmark: "case", GC: "natural"}},
		End:   &record.End{Reason: "complete"},
	}
}

// batches makes a line of batches of 1000 calls from their ns per call.
func batches(kind string, perCall ...float64) record.Batches {
	b := record.Batches{Kind: kind}
	for _, ns := range perCall {
		b.Calls = append(b.Calls, 1000)
		b.NS = append(b.NS, 1000*ns)
	}
	return b
}

// add adds a healthy process of case 0 that wrote these lines.
func add(rec *record.Record, lines ...record.Batches) *record.ProcessRecord {
	n := len(rec.Processes)
	in := record.In{Process: n}
	p := &record.ProcessRecord{
		Process: record.Process{
			In: in, Round: n, Seed: float64(100 + n),
			VM:    record.VM{Version: "LuaJIT 2.1", JIT: true},
			Clock: record.Clock{Source: "tsc", StepNS: 0.4, Compiled: true},
		},
		JIT: &record.JIT{In: in, Traces: []record.Trace{
			{ID: 1, Stage: "warmup", Source: record.Source{File: "case.lua", Line: 3}, Lines: "3-4-5", Link: "loop", MCode: 200, Own: true},
		}},
		Memory: &record.Memory{In: in, Calls: 1000},
		Finish: &record.Finish{In: in, Stop: "enough"},
		Exit:   &record.Exit{Process: n},
	}
	at := 0.0
	for _, l := range lines {
		l.In, l.AtNS = in, at
		for _, ns := range l.NS {
			at += ns
		}
		p.Batches = append(p.Batches, l)
	}
	rec.Processes = append(rec.Processes, p)
	return p
}

// healthy is a record with a process at each of these ns per call, the empty twin, of
// 1 ns a turn, already taken off.
func healthy(perCall ...float64) *record.Record {
	rec := newRecord()
	for _, ns := range perCall {
		add(rec, batches(record.Measure, stattest.Around(40, ns+1)...), batches(record.Empty, stattest.Around(20, 1)...))
	}
	return rec
}

// addTrace gives a process a side trace more.
func addTrace(p *record.ProcessRecord) {
	p.JIT.Traces = append(p.JIT.Traces, record.Trace{ID: 2, Parent: 1, Stage: "warmup", Source: p.JIT.Traces[0].Source, Lines: "4", Link: "root", Own: true})
}
