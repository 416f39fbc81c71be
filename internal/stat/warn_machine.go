package stat

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/record"
)

const (
	traceShare   = 0.05 // of the batches, with a trace event inside
	polluteShare = 0.25 // with a context switch or steal inside
	stealShare   = 0.05 // with steal inside
	stealPercent = 1.0  // since boot
	coarseStep   = 100  // ns
	busyLoad     = 0.5  // a core
)

func warnTraceInMeasurement(f *facts) *record.Warning {
	b := f.r.Batches
	if float64(b.Traced) <= traceShare*float64(b.Measured) {
		return nil
	}
	return warn("trace_in_measurement",
		fmt.Sprintf("the compiler still made traces in %.0f %% of the measured batches (they are left out)",
			share(b.Traced, b.Measured)),
		"the code may never settle: look for new types, tables or branches from call to call, or allow more --time")
}

func warnPolluted(f *facts) *record.Warning {
	b := f.r.Batches
	forced := 0
	for _, v := range f.vms {
		if v.own.Polluted {
			forced++
		}
	}
	// A batch may be both switched and stolen from: the larger is a lower bound.
	disturbed := max(b.Switched, b.Stolen)
	if forced == 0 && float64(disturbed) <= polluteShare*float64(b.Measured) {
		return nil
	}
	text := fmt.Sprintf("other work interrupted %.0f %% of the measured batches; they are left out", share(disturbed, b.Measured))
	if forced > 0 {
		text = fmt.Sprintf("in %s hardly any batch ran undisturbed, so disturbed ones count too",
			counted(forced, "process", "processes"))
	}
	return warn("polluted", text, "stop what else runs on this machine, or measure on a quieter one")
}

func warnGCStopped(f *facts) *record.Warning {
	bytes := f.r.BytesPerCall
	if f.r.Case.GC != "stopped" || bytes == nil || *bytes < 1 {
		return nil
	}
	text := fmt.Sprintf("the collector was stopped: the figure leaves out its work on %.0f bytes per call", *bytes)
	if heap := f.memory(func(m *record.Memory) (float64, bool) { return m.HeapBytes, true }); *heap > 0 {
		text += fmt.Sprintf(", and the heap grew to %.0f MB", *heap/1e6)
	}
	return warn("gc_stopped", text,
		"measure with --gc natural for the cost in production")
}

// runChecks check one thing of the whole run each.
var runChecks = []func(*record.Record, *record.Results) *record.Warning{
	warnCutOff, warnFaultsOutside, warnDifferentVMs, warnClockCoarse, warnClockInterpreted,
	warnGovernor, warnLoad, warnSteal,
}

func runWarnings(rec *record.Record, res *record.Results) []record.Warning {
	return found(runChecks, func(check func(*record.Record, *record.Results) *record.Warning) *record.Warning {
		return check(rec, res)
	})
}

func warnCutOff(rec *record.Record, _ *record.Results) *record.Warning {
	text := ""
	switch {
	case rec.Spoiled != nil:
		text = "the record could be read only up to a fault: " + rec.Spoiled.Error()
	case rec.End == nil:
		text = "the record was cut off: it has no end line"
	case rec.End.Reason != "complete":
		text = "the run was " + rec.End.Reason
	default:
		return nil
	}
	return warn("incomplete", text, "what stands before is whole; run again for the rest")
}

func warnFaultsOutside(rec *record.Record, _ *record.Results) *record.Warning {
	outside := rec.FaultsOf(-1)
	if len(outside) == 0 {
		return nil
	}
	return warn("fault",
		fmt.Sprintf("%s: %s", outside[0].Kind, outside[0].Text),
		"it belongs to no case, so some may be missing")
}

func warnDifferentVMs(_ *record.Record, res *record.Results) *record.Warning {
	if len(res.VMs) < 2 {
		return nil
	}
	return warn("different_vms",
		fmt.Sprintf("the processes ran on %d different VMs, as %s and %s", len(res.VMs), nameOf(res.VMs[0]), nameOf(res.VMs[1])),
		"figures of different VMs, builds or JIT options are not one sample: measure each by itself")
}

func nameOf(v record.VM) string {
	name := v.Version
	if v.Library != "" {
		name += " (" + v.Library + ")"
	}
	if !v.JIT && !v.Go() {
		name += " with the JIT off"
	}
	return name
}

func warnClockCoarse(_ *record.Record, res *record.Results) *record.Warning {
	if res.Clock == nil || res.Clock.StepNS <= coarseStep {
		return nil
	}
	return warn("clock_coarse",
		fmt.Sprintf("the clock (%s) moves in steps of %.0f ns", res.Clock.Source, res.Clock.StepNS),
		"batches are long enough for it, single laps are not; on Linux see /sys/devices/system/clocksource")
}

func warnClockInterpreted(rec *record.Record, _ *record.Results) *record.Warning {
	for _, p := range rec.Processes {
		if p.Process.VM.JIT && !p.Process.Clock.Compiled {
			return warn("clock_interpreted",
				fmt.Sprintf("reading the clock was not compiled (process %d): %.0f ns a read", p.Process.Process, p.Process.Clock.CostNS),
				"laps cost more and break the trace; look at jit.opt and at what turns the compiler off")
		}
	}
	return nil
}

func warnGovernor(_ *record.Record, res *record.Results) *record.Warning {
	if g := res.Environment.Governor; g != "" && g != "performance" {
		return warn("governor",
			fmt.Sprintf("the CPU's frequency governor is %q: the clock rate changes while measuring", g),
			"sudo cpupower frequency-set -g performance")
	}
	return nil
}

func warnLoad(_ *record.Record, res *record.Results) *record.Warning {
	e := res.Environment
	if len(e.Load) == 0 || e.Cores == 0 || e.Load[0] <= busyLoad*float64(e.Cores) {
		return nil
	}
	return warn("load",
		fmt.Sprintf("the machine was busy when the run began: load %.1f on %s", e.Load[0], counted(e.Cores, "core", "cores")),
		"intervals are wider than they need be: stop what else runs here")
}

func warnSteal(_ *record.Record, res *record.Results) *record.Warning {
	if s := res.Environment.StealPercent; s != nil && *s > stealPercent {
		return warn("steal",
			fmt.Sprintf("the hypervisor took %.1f %% of this machine's CPU time since boot", *s),
			"compare only what was measured interleaved, in one run")
	}
	stolen, all := 0, 0
	for _, c := range res.Cases {
		stolen += c.Batches.Stolen
		all += c.Batches.Measured
	}
	if float64(stolen) <= stealShare*float64(all) {
		return nil
	}
	return warn("steal",
		fmt.Sprintf("the hypervisor took CPU time in %.0f %% of the measured batches", share(stolen, all)),
		"compare only what was measured interleaved, in one run")
}

// share in per cent.
func share(part, all int) float64 {
	if all == 0 {
		return 0
	}
	return 100 * float64(part) / float64(all)
}
