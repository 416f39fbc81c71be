package stat

import (
	"fmt"
	"math"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/internal/stat/modes"
	"github.com/moonlap/moonlap/internal/stat/sequential"
	"github.com/moonlap/moonlap/internal/stat/steady"
)

// caseChecks check one thing each, and return what there is to warn of, or nil.
var caseChecks = []func(*facts) *record.Warning{
	warnFew, warnModes, warnLevels, warnAlone, warnNeverSteady, warnSomeNeverSteady, warnFewBatches,
	warnWide, warnDeadCode, warnSunkAllocation, warnNoTwin,
	warnInterpreted, warnBlacklisted, warnAborts, warnTraceInMeasurement,
	warnPolluted, warnDisturbed, warnSeries, warnSaturated, warnOneSeed, warnGCStopped, warnLate, warnLapsSpoiled,
}

func warn(code, text, advice string) *record.Warning {
	return &record.Warning{Code: code, Text: text, Advice: advice}
}

// found are the warnings that checks return, nil being none.
func found[C any](checks []C, call func(C) *record.Warning) []record.Warning {
	warnings := []record.Warning{}
	for _, check := range checks {
		if w := call(check); w != nil {
			warnings = append(warnings, *w)
		}
	}
	return warnings
}

func caseWarnings(f *facts) []record.Warning {
	return found(caseChecks, func(check func(*facts) *record.Warning) *record.Warning { return check(f) })
}

func warnFew(f *facts) *record.Warning {
	if f.r.NSPerCall == nil || len(f.few) == 0 {
		return nil
	}
	n, main := len(f.steady), len(inMode(f.steady, 0))
	w := f.few[0]
	if main < n {
		w.Text = fmt.Sprintf("%d of %d processes are on the level of the figure; %s", main, n, w.Text)
	} else {
		w.Text = fmt.Sprintf("%s; %s", counted(n, "process counts", "processes count"), w.Text)
	}
	if n > 1 {
		w.Text += fmt.Sprintf("; a mode of fewer than %.0f %% of processes may be missing",
			100*(1-math.Pow(1-estimate.Level, 1/float64(n))))
	}
	if least := estimate.LeastForMedian(estimate.Level); len(measured(f.units)) >= least {
		w.Advice = fmt.Sprintf("at least %d have to settle, and on one level: give it more --time, or more --processes", least)
	}
	return &w
}

func warnModes(f *facts) *record.Warning {
	if f.found.Count < 2 {
		return nil
	}
	advice := "find what differs in the traces, so that every process takes the fast one"
	if f.goCode() {
		advice = "find what differs from process to process: where memory lies, the order of maps, which goroutines meet"
	}
	if last := f.r.Modes[len(f.r.Modes)-1]; last.Processes == 1 {
		advice = fmt.Sprintf("one process shows that a mode may exist, not how frequent it is: use %d processes",
			max(20, modes.ProcessesToSee(last.Share, estimate.Level)))
	}
	return warn("modes", "the processes settle on different levels: "+levels(f.r.Modes), advice)
}

func levels(list []record.Mode) string {
	var texts []string
	for _, m := range list {
		text := fmt.Sprintf("%.0f %% of processes at %s", 100*m.Share, figure(m.NS))
		if m.Processes == 1 {
			text += " (one process)"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func warnAlone(f *facts) *record.Warning {
	if len(f.found.Alone) == 0 {
		return nil
	}
	u := f.steady[f.found.Alone[0]]
	text := fmt.Sprintf("one process of %d at %s, far from the others", len(f.steady), figure(u.ns()))
	if n := len(f.found.Alone); n > 1 {
		text = fmt.Sprintf("%d processes of %d far from the others and from each other, one at %s",
			n, len(f.steady), figure(u.ns()))
	}
	return warn("one_process", text,
		fmt.Sprintf("a rare mode, or a disturbance that lasted: use %d processes to see a mode of one in %d with 95 %%",
			modes.ProcessesToSee(1/float64(len(f.steady)), estimate.Level), len(f.steady)))
}

func warnNeverSteady(f *facts) *record.Warning {
	if f.r.Steady != record.SteadyNone {
		return nil
	}
	return warn("never_steady",
		fmt.Sprintf("%d of %d processes never reached a steady state, so there is no single figure",
			f.r.SteadyCounts[record.SteadyNone], len(measured(f.units))),
		"look for state that grows from call to call, and reset it in setup; or measure longer with --time")
}

func warnSomeNeverSteady(f *facts) *record.Warning {
	if none := f.r.SteadyCounts[record.SteadyNone]; none > 0 && f.r.Steady != record.SteadyNone {
		return warn("some_never_steady",
			fmt.Sprintf("%d of %d processes never reached a steady state; the figure is without them", none, len(measured(f.units))),
			"more processes show whether this belongs to the case or to the machine")
	}
	return nil
}

func warnFewBatches(f *facts) *record.Warning {
	few := 0
	for _, v := range f.vms {
		if v.own.Figure() && v.own.Steadiness.TooFew {
			few++
		}
	}
	if few == 0 || 2*few < len(f.vms) {
		return nil
	}
	return warn("few_batches",
		fmt.Sprintf("too few batches in a process (fewer than %d) to see whether it became steady", steady.LeastBatches),
		"give each process more time with --time, or make a call shorter")
}

// Precision that needs no warning, and the width that is always good enough, in ns.
const (
	goodPrecision = 0.05
	goodWidth     = 0.1
)

func warnWide(f *facts) *record.Warning {
	if f.r.NSPerCall == nil || len(f.few) > 0 {
		return nil
	}
	iv := f.r.NSPerCall.Interval
	if halfWidth(iv) <= goodWidth || relativeWidth(iv) <= goodPrecision || warnDeadCode(f) != nil {
		return nil // around zero no number of processes narrows it to a share of the figure
	}
	// The width falls with the root of the number of processes.
	factor := math.Pow(relativeWidth(iv)/goodPrecision, 2)
	need := int(math.Ceil(factor * float64(len(f.steady))))
	advice := fmt.Sprintf("about %d processes would bring that to %.0f %%; a quieter machine needs fewer", need, 200*goodPrecision)
	if need > sequential.MostPairs {
		advice = "not even many more processes would narrow it much: see first what else this machine does"
	}
	return warn("wide_interval",
		fmt.Sprintf("the interval is wide: its ends are %.0f %% of the figure apart", 200*halfWidth(iv)/max(math.Abs(iv.Estimate), goodWidth)), advice)
}

func warnSaturated(f *facts) *record.Warning {
	short, all := 0, 0
	for _, v := range f.vms {
		for _, line := range v.said.Batches {
			if line.Kind != record.Measure {
				continue
			}
			for _, ns := range line.NS {
				all++
				if ns < leastSteps*v.said.Process.Clock.StepNS {
					short++
				}
			}
		}
	}
	if 10*short <= all {
		return nil
	}
	return warn("timer_saturated",
		fmt.Sprintf("%.0f %% of the batches are shorter than %d steps of the clock: its steps show in the figure",
			100*float64(short)/float64(all), leastSteps),
		"give the case more time with --time, so that its batches are longer")
}

// leastSteps of the clock make a batch whose time is known to 1 ‰.
const leastSteps = 1000

func warnOneSeed(f *facts) *record.Warning {
	if len(f.units) < 2 {
		return nil
	}
	for _, u := range f.units {
		if u.seed() != f.units[0].seed() {
			return nil
		}
	}
	return warn("one_seed",
		fmt.Sprintf("all %d processes drew from the same seed, which hides modes that hang on it", len(f.units)),
		"let each process have its own seed; keep one seed only to replay a process")
}

func warnLate(f *facts) *record.Warning {
	l := f.r.Laps
	if l == nil || l.Count == 0 || 20*l.Late <= l.Count {
		return nil
	}
	return warn("late",
		fmt.Sprintf("%.0f %% of the calls started later than the target rate asks", 100*float64(l.Late)/float64(l.Count)),
		"the target can't keep up: the response times show how long callers wait; lower the rate or raise the concurrency")
}

func warnLapsSpoiled(f *facts) *record.Warning {
	if len(f.lapFaults) == 0 {
		return nil
	}
	return warn("laps_spoiled",
		fmt.Sprintf("%s of laps can't be read and %s left out: %v",
			counted(len(f.lapFaults), "histogram", "histograms"), map[bool]string{true: "is", false: "are"}[len(f.lapFaults) == 1], f.lapFaults[0]),
		"the record is damaged, or was written by another program: run again")
}

// figure writes a time with three digits and its unit: "8.81 ns", "5.43 ms".
func figure(ns float64) string {
	unit := "ns"
	for _, larger := range []string{"µs", "ms", "s"} {
		if math.Abs(ns) < 999.5 {
			break
		}
		ns, unit = ns/1000, larger
	}
	return fmt.Sprintf("%.3g %s", ns, unit)
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
