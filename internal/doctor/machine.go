package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// virtual reports whether a hypervisor runs this machine.
func (m Machine) virtual() bool { return m.Env.Virtualization != "" && m.Env.Virtualization != "none" }

// frequency is about the CPU's clock rate: governor and turbo, or why neither is there.
func (m Machine) frequency() []Check {
	e := m.Env
	if e.Governor == "" && e.Turbo == "" {
		text := "there is no cpufreq: nothing to read or to set"
		if m.virtual() {
			text = "there is no cpufreq: the host of this virtual machine sets the clock rate, unseen"
		}
		return []Check{note("frequency", text, "compare only what was measured interleaved, in one run")}
	}
	var checks []Check
	switch e.Governor {
	case "":
		checks = append(checks, note("governor", "the frequency governor can't be read: "+e.Missing["governor"], "compare only what was measured interleaved"))
	case "performance":
		checks = append(checks, ok("governor", "performance"))
	default:
		checks = append(checks, problem("governor", e.Governor+": the clock rate changes while measuring",
			"moonlap doctor --tune -- COMMAND, or sudo cpupower frequency-set -g performance"))
	}
	switch e.Turbo {
	case "on":
		checks = append(checks, note("turbo", "on: the clock rate falls as the CPU warms up and as other cores wake",
			"echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost (Intel: 1 into intel_pstate/no_turbo)"))
	case "off":
		checks = append(checks, ok("turbo", "off"))
	}
	return checks
}

// yardsticks tells what a quiet moment is on this machine.
func (m Machine) yardsticks() []Check {
	var best []string
	for _, kind := range slices.Sorted(maps.Keys(m.Yardsticks)) {
		best = append(best, fmt.Sprintf("%s %.2f µs", kind, m.Yardsticks[kind]/1000))
	}
	if len(best) == 0 {
		return nil
	}
	return []Check{ok("yardsticks", strings.Join(best, ", ")+" in the quietest moments since "+m.Since)}
}

func (m Machine) smt() Check {
	switch m.Env.SMT {
	case "on":
		return note("SMT", "on: two threads share a core, and each slows the other",
			"echo off | sudo tee /sys/devices/system/cpu/smt/control, or keep the sibling idle")
	case "":
		return note("SMT", "it can't be read whether threads share a core: "+m.Env.Missing["smt"], "compare only what was measured interleaved")
	}
	return ok("SMT", m.Env.SMT)
}

// aslr on is what several processes average over; off, all of them share one layout.
func (m Machine) aslr() Check {
	switch m.Env.ASLR {
	case "on":
		return ok("ASLR", "on: each process has another layout of memory, which several processes average over")
	case "":
		return note("ASLR", "can't be read: "+m.Env.Missing["aslr"], "")
	}
	return note("ASLR", m.Env.ASLR+": all processes share one layout of memory, lucky or unlucky",
		"sudo sysctl kernel.randomize_va_space=2")
}

func (m Machine) load() Check {
	if len(m.Env.Load) == 0 || m.Env.Cores == 0 {
		return note("load", "can't be read: "+m.Env.Missing["load"], "")
	}
	text := fmt.Sprintf("%.2f on %d cores", m.Env.Load[0], m.Env.Cores)
	switch share := m.Env.Load[0] / float64(m.Env.Cores); {
	case share > 1:
		return problem("load", text+": what is measured waits for a CPU", "stop what else runs here")
	case share > 0.5:
		return note("load", text+": intervals will be wide", "stop what else runs here")
	}
	return ok("load", text)
}

func (m Machine) steal() Check {
	switch s := m.Env.StealPercent; {
	case s == nil:
		return note("steal", "can't be read: "+m.Env.Missing["steal_percent"], "")
	case *s > 1:
		return problem("steal", fmt.Sprintf("the hypervisor took %.1f %% of the CPU time since boot", *s),
			"use a machine with CPUs of its own; compare only what was measured interleaved")
	case !m.virtual():
		return ok("steal", "none: no hypervisor is known to run this machine")
	default:
		return ok("steal", fmt.Sprintf("the hypervisor took %.2f %% of the CPU time since boot", *s))
	}
}

func (m Machine) quota() Check {
	switch q := m.Env.CPUQuota; {
	case q == "":
		return note("CPU quota", "can't be read: "+m.Env.Missing["cpu_quota"], "")
	case strings.HasPrefix(q, "max"):
		return ok("CPU quota", "none")
	default:
		return problem("CPU quota", "the cgroup allows "+q+" (µs a period, µs): beyond it everything stops until the next period",
			"measure outside this container, or raise its --cpus")
	}
}

// clock is about the kernel's clock source: one that is not the time-stamp counter makes
// each reading a system call.
func (m Machine) clock() Check {
	source := m.Env.ClockSource
	var lacking []string
	if info, err := m.read("proc/cpuinfo"); err == nil && strings.Contains(info, "\nflags") {
		_, flags, _ := strings.Cut(info, "\nflags")
		flags, _, _ = strings.Cut(flags, "\n")
		for _, flag := range []string{"constant_tsc", "nonstop_tsc"} {
			if !slices.Contains(strings.Fields(flags), flag) {
				lacking = append(lacking, flag)
			}
		}
	}
	switch {
	case source == "":
		return note("clock", "the clock source can't be read: "+m.Env.Missing["clock_source"], "moonlap measures what its clock costs, in any case")
	case source == "tsc" && len(lacking) > 0:
		return note("clock", "tsc, but the CPU does not promise "+strings.Join(lacking, " and "), "use --clock monotonic")
	case source == "tsc":
		return ok("clock", "tsc, at a constant rate")
	case source == "arch_sys_counter":
		return ok("clock", source)
	case source == "kvm-clock" || strings.HasPrefix(source, "hyperv"):
		return note("clock", source+": the hypervisor's; the time-stamp counter is not used by the kernel", "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource, where it is available")
	}
	return problem("clock", source+": each reading is a slow system call",
		"boot with clocksource=tsc, or see dmesg for why the kernel gave the time-stamp counter up")
}
