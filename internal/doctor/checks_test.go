package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"
	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
)

// made is a machine with these files, and the checks by name.
func made(t *testing.T, files map[string]string, counter func(bool) error) map[string]Check {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if counter == nil {
		counter = func(bool) error { return nil }
	}
	checks := map[string]Check{}
	for _, c := range (Machine{Root: root, Env: runtime.EnvironmentUnder(root), Counter: counter}).Checks() {
		checks[c.Name] = c
		if c.Text == "" || strings.Contains(c.Text+c.Remedy, "\n") {
			t.Errorf("%s: not one line: %q, %q", c.Name, c.Text, c.Remedy)
		}
		if c.Status == Problem && c.Remedy == "" {
			t.Errorf("%s: a problem without remedy", c.Name)
		}
		if c.Status == OK && c.Remedy != "" {
			t.Errorf("%s: a remedy for what is right", c.Name)
		}
	}
	return checks
}

func TestChecks(t *testing.T) {
	const cpu, sysctl = "sys/devices/system/cpu/", "proc/sys/kernel/"
	root, nobody := "CapEff:\t000001ffffffffff\n", "CapEff:\t0000000000000000\n"
	btf := "sys/kernel/btf/vmlinux"
	deny := func(err error) func(bool) error { return func(bool) error { return err } }
	noPMU := func(hardware bool) error {
		if hardware {
			return unix.ENOENT
		}
		return nil
	}
	for _, c := range []struct {
		check, status, text string
		counter             func(bool) error
		files               map[string]string
	}{
		{"frequency", Note, "there is no cpufreq: nothing", nil, nil},
		{"frequency", Note, "the host of this virtual machine", nil, map[string]string{"proc/cpuinfo": "flags : hypervisor\n"}},
		{"governor", Problem, "schedutil", nil, map[string]string{cpu + "cpu0/cpufreq/scaling_governor": "schedutil\n"}},
		{"governor", Problem, "performance, powersave", nil, map[string]string{
			cpu + "cpu0/cpufreq/scaling_governor": "powersave\n", cpu + "cpu1/cpufreq/scaling_governor": "performance\n"}},
		{"governor", OK, "performance", nil, map[string]string{cpu + "cpu0/cpufreq/scaling_governor": "performance\n"}},
		{"turbo", Note, "on", nil, map[string]string{cpu + "intel_pstate/no_turbo": "0\n"}},
		{"turbo", OK, "off", nil, map[string]string{cpu + "cpufreq/boost": "0\n"}},
		{"SMT", Note, "share a core", nil, map[string]string{cpu + "smt/control": "on\n"}},
		{"SMT", OK, "off", nil, map[string]string{cpu + "smt/control": "off\n"}},
		{"ASLR", OK, "on", nil, map[string]string{sysctl + "randomize_va_space": "2\n"}},
		{"ASLR", Note, "off", nil, map[string]string{sysctl + "randomize_va_space": "0\n"}},
		{"load", Problem, "waits for a CPU", nil, map[string]string{"proc/loadavg": "9999 1 1 1/1 1\n"}},
		{"load", OK, "0.00", nil, map[string]string{"proc/loadavg": "0.00 1 1 1/1 1\n"}},
		{"steal", Problem, "20.0 %", nil, map[string]string{"proc/stat": "cpu 10 0 0 70 0 0 0 20 0 0\n"}},
		{"steal", OK, "none", nil, map[string]string{"proc/stat": "cpu 10 0 0 70 0 0 0 0 0 0\n"}},
		{"CPU quota", Problem, "50000 100000", nil, map[string]string{
			"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/cgroup.controllers": "", "sys/fs/cgroup/a/cpu.max": "50000 100000\n"}},
		{"CPU quota", OK, "none", nil, map[string]string{
			"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/cgroup.controllers": "", "sys/fs/cgroup/a/cpu.max": "max 100000\n"}},
		{"clock", Problem, "hpet", nil, map[string]string{"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n"}},
		{"clock", Note, "kvm-clock", nil, map[string]string{"sys/devices/system/clocksource/clocksource0/current_clocksource": "kvm-clock\n"}},
		{"clock", Note, "nonstop_tsc", nil, map[string]string{
			"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n", "proc/cpuinfo": "vendor_id : x\nflags : fpu constant_tsc\n"}},
		{"clock", OK, "tsc", nil, map[string]string{
			"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n", "proc/cpuinfo": "vendor_id : x\nflags : nonstop_tsc constant_tsc\n"}},
		{"counters", OK, "can be read", nil, nil},
		{"counters", Note, "there are no hardware counters", noPMU, nil},
		{"counters", Note, "this virtual machine has no", noPMU, map[string]string{"proc/cpuinfo": "flags : hypervisor\n"}},
		{"counters", Note, "may not be read", deny(unix.EACCES), nil},
		{"counters", Note, "I/O error", deny(errors.New("I/O error")), nil},
		{"perf", Note, "no perf events", nil, nil},
		{"perf", OK, "every process", nil, map[string]string{sysctl + "perf_event_paranoid": "3\n", "proc/self/status": root}},
		{"perf", OK, "its own processes, kernel", nil, map[string]string{sysctl + "perf_event_paranoid": "1\n", "proc/self/status": nobody}},
		{"perf", Note, "not the kernel's part", nil, map[string]string{sysctl + "perf_event_paranoid": "2\n", "proc/self/status": nobody}},
		{"perf", Problem, "only root", nil, map[string]string{sysctl + "perf_event_paranoid": "4\n", "proc/self/status": nobody}},
		{"perf", Problem, "can't be opened", deny(unix.ENOSYS), map[string]string{sysctl + "perf_event_paranoid": "1\n"}},
		{"eBPF", Problem, "CONFIG_DEBUG_INFO_BTF; bench and time do without", nil, map[string]string{"proc/self/status": root}},
		{"eBPF", OK, "may be loaded", nil, map[string]string{btf: "", "proc/self/status": root}},
		{"eBPF", OK, "may be loaded", nil, map[string]string{btf: "", "proc/self/status": "CapEff:\t000000c000000000\n"}},
		{"eBPF", Note, "unprivileged eBPF is off", nil, map[string]string{
			btf: "", "proc/self/status": nobody, sysctl + "unprivileged_bpf_disabled": "2\n"}},
		{"ptrace", OK, "any process", nil, map[string]string{sysctl + "yama/ptrace_scope": "1\n", "proc/self/status": "CapEff:\t0000000000080000\n"}},
		{"ptrace", Problem, "nobody", nil, map[string]string{sysctl + "yama/ptrace_scope": "3\n", "proc/self/status": root}},
		{"ptrace", Note, "only what moonlap starts", nil, map[string]string{sysctl + "yama/ptrace_scope": "1\n", "proc/self/status": nobody}},
		{"ptrace", Note, "only with CAP_SYS_PTRACE", nil, map[string]string{sysctl + "yama/ptrace_scope": "2\n", "proc/self/status": nobody}},
		{"ptrace", Note, "only its own processes", nil, map[string]string{"proc/self/status": nobody}},
		{"kernel names", OK, "shows", nil, map[string]string{"proc/kallsyms": "0000000000000000 A zero\nffffffff81000000 T _text\n"}},
		{"kernel names", Note, "kptr_restrict is 2", nil, map[string]string{
			"proc/kallsyms": "0000000000000000 A zero\n0000000000000000 T _text\n", sysctl + "kptr_restrict": "2\n"}},
		{"kernel names", Note, "perf_event_paranoid is above 1", nil, map[string]string{
			"proc/kallsyms": "0000000000000000 T _text\n", sysctl + "kptr_restrict": "0\n"}},
		{"kernel names", Note, "kptr_restrict is 1 run as root", nil, map[string]string{
			"proc/kallsyms": "0000000000000000 T _text\n", sysctl + "kptr_restrict": "1\n"}},
		{"kernel names", Note, "no /proc/kallsyms", nil, nil},
		{"eBPF", Note, "may not load", nil, map[string]string{btf: "", "proc/self/status": "CapEff:\t0000008000000000\n"}},
	} {
		got, ok := made(t, c.files, c.counter)[c.check]
		if !ok || got.Status != c.status || !strings.Contains(got.Text+" "+got.Remedy, c.text) {
			t.Errorf("%s with %v: %+v, want %s with %q", c.check, c.files, got, c.status, c.text)
		}
	}
}

func TestBuilt(t *testing.T) {
	program := record.Runtime{Path: "/x/luajit", Version: "LuaJIT 2.1"}
	says := said([]byte("noise\ndoctor.version=LuaJIT 2.1\ndoctor.arch=x64\ndoctor.gc64=true\ndoctor.jit=true\ndoctor.prngstate=true\n"))
	want := Check{Name: "luajit", Status: OK, Text: "/x/luajit: LuaJIT 2.1, x64, GC64"}
	if diff := cmp.Diff(want, built("luajit", program, says)); diff != "" {
		t.Error(diff)
	}
	says["prngstate"] = "false"
	if c := built("luajit", program, says); c.Status != Note {
		t.Errorf("without prngstate: %+v", c)
	}
	says["jit"] = "false"
	if c := built("luajit", program, says); c.Status != Problem || !strings.Contains(c.Text, "interpreted") {
		t.Errorf("without its JIT: %+v", c)
	}
	if c := built("nginx", program, nil); c.Status != Problem {
		t.Errorf("that says nothing: %+v", c)
	}
	if c := core(map[string]string{"core": "none: module 'resty.core.base' not found"}); c.Status != Problem || !strings.Contains(c.Text, "not found") {
		t.Errorf("without resty.core: %+v", c)
	}
	if c := core(map[string]string{"core": "0.1.25", "module": "10023"}); c.Status != OK || !strings.Contains(c.Text, "0.10.23") {
		t.Errorf("with resty.core: %+v", c)
	}
}

// TestUnmounted: where /proc or /sys is missing, that is said, once, before what seems to be missing for it.
func TestUnmounted(t *testing.T) {
	names := func(files map[string]string) (all []string) {
		for name := range made(t, files, nil) {
			if strings.HasPrefix(name, "/") {
				all = append(all, name)
			}
		}
		slices.Sort(all)
		return all
	}
	for _, c := range []struct {
		files map[string]string
		want  []string
	}{
		{nil, []string{"/proc", "/sys"}},
		{map[string]string{"proc/self/status": ""}, []string{"/sys"}},
		{map[string]string{"proc/self/status": "", "sys/kernel/notes": ""}, nil},
	} {
		if diff := cmp.Diff(c.want, names(c.files)); diff != "" {
			t.Errorf("%v:\n%s", c.files, diff)
		}
	}
}

// TestProbe: what the kernel refuses is reported, though its files promise it.
func TestProbe(t *testing.T) {
	for want, checked := range map[string][]probe.Checked{
		"moonlap's programs were loaded": {{Name: "load"}, {Name: probe.NameKernel, Err: errors.New("hidden")}},
		"attach: no such event":          {{Name: "load"}, {Name: "attach", Err: errors.New("no such event")}},
		"a return probe would kill it":   {{Name: "load"}, {Name: probe.ProbeReturns, Err: probe.ErrReturns}},
		"--locks":                        {{Name: "load"}, {Name: probe.ProbeFunctions, Err: errors.New("no uprobes")}},
	} {
		m := Machine{Probe: func() []probe.Checked { return checked }}
		if c := m.tryProbe(); !strings.Contains(c.Text, want) || (c.Status == OK) != (c.Remedy == "") {
			t.Errorf("%+v, want %q", c, want)
		}
	}
}

func TestYardsticksOfTheMachine(t *testing.T) {
	if got := (Machine{}).yardsticks(); len(got) != 0 {
		t.Errorf("%v of a machine that no run was on", got)
	}
	got := Machine{Yardsticks: map[string]float64{"core": 1432, "cache": 1062}, Since: "2026-11-20"}.yardsticks()
	if len(got) != 1 || got[0].Status != OK || got[0].Text != "cache 1.06 µs, core 1.43 µs in the quietest moments since 2026-11-20" {
		t.Errorf("%+v", got)
	}
}
