package stat

import (
	"slices"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/internal/stat/modes"
)

// facts are what is known of a case when its warnings are made.
type facts struct {
	rec    *record.Record
	r      *record.CaseResult // complete but for its warnings
	units  []unit             // the healthy processes
	again  []unit             // those that measured a seed of these again, which count in nothing else
	steady []unit             // those of them that count
	slowed []unit             // those that do not, as they had no quiet moment
	vms    []vm               // of the healthy processes
	found  modes.Modes
	levels []record.Mode    // that processes lie on, and nothing but time sets apart
	few    []record.Warning // of the figure's interval
	series record.Interval  // where they differ for no known reason: what they lie between

	lapFaults []error // of histograms that can't be read
}

func (f *facts) ledgers() []*record.JIT {
	var ls []*record.JIT
	for _, v := range f.vms {
		if v.said.JIT != nil {
			ls = append(ls, v.said.JIT)
		}
	}
	return ls
}

// goCode reports whether the case is a Go benchmark.
func (f *facts) goCode() bool { return f.r.Case.Runtime == "go" }

// jitOn reports whether any VM of the case has its compiler on.
func (f *facts) jitOn() bool {
	return slices.ContainsFunc(f.vms, func(v vm) bool { return v.said.Process.VM.JIT })
}

// bytesPerCall is the median over the VMs; nil when none measured it.
func (f *facts) bytesPerCall() *float64 {
	return f.memory(func(m *record.Memory) (float64, bool) { return m.BytesPerCall, true })
}

func (f *facts) interpretedBytes() *float64 {
	return f.memory(func(m *record.Memory) (float64, bool) {
		if m.InterpretedPerCall == nil {
			return 0, false
		}
		return *m.InterpretedPerCall, true
	})
}

func (f *facts) memory(of func(*record.Memory) (float64, bool)) *float64 {
	var values []float64
	for _, v := range f.vms {
		if v.said.Memory != nil {
			if x, ok := of(v.said.Memory); ok {
				values = append(values, x)
			}
		}
	}
	return medianOf(values)
}

func (f *facts) instructionsPerCall() *float64 {
	var values []float64
	for _, v := range f.vms {
		if v.said.Finish != nil && v.said.Finish.InstructionsPerCall != nil {
			values = append(values, *v.said.Finish.InstructionsPerCall)
		}
	}
	return medianOf(values)
}

// medianOf is nil where there is no value.
func medianOf(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	m := estimate.Median(values)
	return &m
}
