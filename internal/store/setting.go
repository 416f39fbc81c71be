package store

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/moonlap/moonlap/internal/record"
)

// setting is all that the figure of a case depends on beside the code that it times: the
// machine, how it is set, the runtime, the VM with its JIT options, and the way to measure.
func setting(rec *record.Record, c record.Case) []record.Fact {
	facts := Facts(rec.Run)
	if rec.Runtime != nil {
		facts = append(facts, Facts(*rec.Runtime)...)
	}
	facts = append(facts, Facts(c)...)
	if processes := rec.Of(c.Case); len(processes) > 0 {
		facts = append(facts, Facts(processes[0].Process)...)
	}
	return facts
}

// Facts are the part of a setting that one line of a record tells. What it does not know
// is left out. What changes from minute to minute (load, steal) is not part of it, nor is
// the amount of memory, which a kernel rounds as it likes.
func Facts(line record.Line) []record.Fact {
	var facts []record.Fact
	add := func(what, value string) {
		if value != "" {
			facts = append(facts, record.Fact{What: what, Value: value})
		}
	}
	switch l := line.(type) {
	case record.Run:
		e := l.Environment
		add("machine", e.Machine)
		add("cpu", e.CPU)
		add("cores", number(e.Cores))
		add("arch", e.Arch)
		add("kernel", strings.TrimSpace(e.OS+" "+e.Kernel))
		add("virtualization", e.Virtualization)
		add("governor", e.Governor)
		add("turbo", e.Turbo)
		add("SMT", e.SMT)
		add("clock source", e.ClockSource)
		add("ASLR", e.ASLR)
		add("CPU quota", e.CPUQuota)
	case record.Runtime:
		add("runtime", l.Kind)
		add("runtime version", l.Version)
		add("OpenResty", l.OpenResty)
	case record.Case:
		add("phase", l.Phase)
		add("workers", number(l.Workers))
		add("gc", l.GC)
		add("concurrency", number(l.Concurrency))
		add("rate", number(l.Rate))
	case record.Process:
		vm := l.VM
		add("VM", vm.Version)
		add("VM build", vm.Build)
		add("VM arch", vm.Arch)
		if vm.Go() {
			add("GOMAXPROCS", number(vm.GOMAXPROCS))
		} else {
			add("GC64", strconv.FormatBool(vm.GC64))
			add("JIT", strconv.FormatBool(vm.JIT))
		}
		add("jit.opt", strings.Join(vm.Opt, " "))
		var params []string
		for _, name := range slices.Sorted(maps.Keys(vm.Params)) {
			params = append(params, fmt.Sprintf("%s=%v", name, vm.Params[name]))
		}
		add("jit parameters", strings.Join(params, " "))
		if l.Nginx != nil {
			add("nginx", l.Nginx.Version)
			add("nginx Lua module", l.Nginx.LuaModule)
		}
		add("clock", l.Clock.Source)
	}
	return facts
}

func number[T int | float64](n T) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// Differ lists what differs between two settings, in the order of the first; "unknown"
// where one does not know.
func Differ(a, b []record.Fact) []record.Difference {
	value := func(facts []record.Fact, what string) string {
		for _, f := range facts {
			if f.What == what {
				return f.Value
			}
		}
		return "unknown"
	}
	var list []record.Difference
	seen := map[string]bool{}
	for _, f := range slices.Concat(a, b) {
		if x, y := value(a, f.What), value(b, f.What); x != y && !seen[f.What] {
			list = append(list, record.Difference{What: f.What, A: x, B: y})
		}
		seen[f.What] = true
	}
	return list
}
