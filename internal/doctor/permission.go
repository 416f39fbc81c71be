package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/probe"
)

// OpenCounter opens a perf event on this process and closes it: CPU cycles of the
// hardware, or the kernel's own clock. See perf_event_open(2).
func OpenCounter(hardware bool) error {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK,
		Bits: unix.PerfBitDisabled | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv,
	}
	if hardware {
		attr.Type, attr.Config = unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES
	}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func (m Machine) counters() Check {
	switch err := m.Counter(true); {
	case err == nil:
		return ok("counters", "the CPU's hardware counters can be read")
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV):
		text := "there are no hardware counters: no cycles, instructions or cache misses"
		if m.virtual() {
			text = "this virtual machine has no hardware counters: no cycles, instructions or cache misses"
		}
		return note("counters", text, "times are not affected; for counters use a machine that offers its PMU")
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return note("counters", "the hardware counters may not be read", "sudo sysctl kernel.perf_event_paranoid=1")
	default:
		return note("counters", "no hardware counters: "+err.Error(), "times are not affected")
	}
}

// Capabilities that perf and eBPF ask for; see capabilities(7).
const (
	capSysPtrace = 19
	capSysAdmin  = 21
	capPerfmon   = 38
	capBPF       = 39
)

// capabilities is the set that this process has in effect; none where that can't be read.
func (m Machine) capabilities() uint64 {
	status, _ := m.read("proc/self/status")
	_, after, _ := strings.Cut("\n"+status, "\nCapEff:")
	line, _, _ := strings.Cut(after, "\n")
	set, _ := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	return set
}

// capable reports whether this process has all of the capabilities, or CAP_SYS_ADMIN, which
// holds those of perf and eBPF.
func (m Machine) capable(numbers ...int) bool {
	set := m.capabilities()
	if set>>capSysAdmin&1 == 1 {
		return true
	}
	return !slices.ContainsFunc(numbers, func(n int) bool { return set>>n&1 == 0 })
}

// perf is about who may count and sample; see perf_event_paranoid in the kernel's
// admin-guide/sysctl/kernel.rst.
func (m Machine) perf() Check {
	paranoid, err := m.read("proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		return note("perf", "this kernel has no perf events", "moonlap profile needs them: use a kernel with CONFIG_PERF_EVENTS")
	}
	level, err := strconv.Atoi(paranoid)
	what := "perf_event_paranoid is " + paranoid
	switch failed := m.Counter(false); {
	case err != nil:
		return note("perf", what+", which is no number", "")
	case failed != nil:
		return problem("perf", what+", and perf events can't be opened: "+failed.Error(),
			"sudo sysctl kernel.perf_event_paranoid=1; in a container, allow perf_event_open")
	case m.capable(capPerfmon):
		return ok("perf", what+", and this user may sample every process")
	case level <= 1:
		return ok("perf", what+": this user may sample its own processes, kernel and all")
	case level == 2:
		return note("perf", what+": this user may sample its own processes, but not the kernel's part",
			"sudo sysctl kernel.perf_event_paranoid=1, or run the profile as root")
	default:
		return problem("perf", what+": only root may sample", "sudo sysctl kernel.perf_event_paranoid=1")
	}
}

// ebpf is about what profile and watch need: types of the kernel, and the permission to
// load programs.
func (m Machine) ebpf() Check {
	if _, err := os.Stat(filepath.Join(m.Root, "sys/kernel/btf/vmlinux")); err != nil {
		return problem("eBPF", "this kernel does not describe its types: there is no /sys/kernel/btf/vmlinux",
			"use a kernel with CONFIG_DEBUG_INFO_BTF; bench and time do without, explain and watch too, and profile then stops the worker for each sample")
	}
	if m.capable(capBPF, capPerfmon) {
		return m.tryProbe()
	}
	unprivileged, _ := m.read("proc/sys/kernel/unprivileged_bpf_disabled")
	text := "this user may not load programs that trace (CAP_BPF and CAP_PERFMON)"
	if unprivileged != "" && unprivileged != "0" {
		text += ", and unprivileged eBPF is off"
	}
	return note("eBPF", text, "run profile and watch as root, or sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep on moonlap")
}

// tryProbe loads and attaches what profile samples with: a kernel may refuse what its files promise.
func (m Machine) tryProbe() Check {
	if m.Probe == nil {
		return ok("eBPF", "programs may be loaded, and the kernel describes its types (BTF)")
	}
	for _, c := range m.Probe() {
		switch {
		case c.Err == nil, c.Name == probe.NameKernel: // names are a check of their own
		case c.Name == probe.ProbeFunctions:
			return note("eBPF", fmt.Sprintf("%s: %v", c.Name, c.Err), "moonlap profile does the rest: --on-cpu, --off-cpu, --wall, --stalls")
		case c.Name == probe.ProbeReturns:
			return note("eBPF", fmt.Sprintf("%s: %v", c.Name, c.Err), "workers under no filter are not concerned, nor is any other command")
		default:
			return problem("eBPF", fmt.Sprintf("%s: %v", c.Name, c.Err), "moonlap profile --by ptrace does without, and stops a worker for each sample")
		}
	}
	return ok("eBPF", "moonlap's programs were loaded and attached; the kernel describes its types (BTF) and lets functions be probed (uprobes); a trial process under a strict seccomp filter survived it (uretprobe)")
}

// ptrace is about who may look into other processes; see ptrace_scope in the kernel's
// admin-guide/LSM/Yama.rst.
func (m Machine) ptrace() Check {
	scope, err := m.read("proc/sys/kernel/yama/ptrace_scope")
	if err != nil {
		scope = "0" // without Yama
	}
	may := m.capabilities()>>capSysPtrace&1 == 1
	switch {
	case scope == "3":
		return problem("ptrace", "yama's ptrace_scope is 3: nobody may trace a process until the next boot",
			"profile, watch and explain need 2 at most: set kernel.yama.ptrace_scope and boot anew")
	case may:
		return ok("ptrace", "any process may be looked into (CAP_SYS_PTRACE)")
	case scope == "0":
		return note("ptrace", "without CAP_SYS_PTRACE, this user may trace only its own processes",
			"run profile, watch and explain of other users' workers as root")
	case scope == "1":
		return note("ptrace", "without CAP_SYS_PTRACE, and with yama's ptrace_scope at 1, only what moonlap starts itself may be looked into",
			"moonlap profile -- COMMAND works; for workers that run already be root")
	default:
		return note("ptrace", "yama's ptrace_scope is "+scope+": only with CAP_SYS_PTRACE may a process be looked into",
			"run profile, watch and explain as root")
	}
}

// kernelNames is about the names of the kernel's functions; see kptr_restrict in the kernel's
// admin-guide/sysctl/kernel.rst. Hidden ones all have the address 0.
func (m Machine) kernelNames() Check {
	const name = "kernel names"
	f, err := os.Open(filepath.Join(m.Root, "proc/kallsyms"))
	if err != nil {
		return note(name, "this kernel does not list its functions: there is no /proc/kallsyms",
			"a profile shows them by their addresses")
	}
	defer f.Close()
	first := make([]byte, 1<<12)
	n, _ := f.Read(first)
	for line := range strings.Lines(string(first[:n])) {
		if address, _, _ := strings.Cut(line, " "); strings.Trim(address, "0") != "" {
			return ok(name, "the kernel shows its functions' addresses")
		}
	}
	restrict, _ := m.read("proc/sys/kernel/kptr_restrict")
	remedy := "run as root, in a container with CAP_SYSLOG: else kernel functions have no names in a profile"
	text := "the kernel hides its functions' addresses: kptr_restrict is " + restrict
	switch restrict {
	case "0": // as the kernel's kallsyms_show_value decides
		text = "the kernel shows its functions' addresses only to users with CAP_SYSLOG, since perf_event_paranoid is above 1"
	case "1":
	default:
		remedy = "sudo sysctl kernel.kptr_restrict=1, and " + remedy
	}
	return note(name, text, remedy)
}
