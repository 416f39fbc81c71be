package probe

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/process"
)

// needs are the capabilities that sampling takes, and their numbers in capability.h.
var needs = []struct {
	name   string
	number uint
}{
	{"CAP_BPF", 39},        // loads the programs
	{"CAP_PERFMON", 38},    // lets them read memory, and attaches them
	{"CAP_SYS_PTRACE", 19}, // looks into other users' processes
}

const capSysAdmin = 21 // stands for the first two

// Explain puts into words why a step failed: which capability is missing, or what the kernel lacks.
func Explain(step string, err error) error {
	if err == nil {
		return nil
	}
	var verifier *ebpf.VerifierError
	// A library that asks why a map could not be made may have been refused for the same reason.
	refused := errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, ebpf.ErrNotSupported)
	switch missing := missing(); {
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOMEM):
		return fmt.Errorf("eBPF: %s: %w", step, err) // of the moment, not of the machine
	case refused && len(missing) > 0:
		return fmt.Errorf("%w: %w %s", ErrUnsupported, ErrForbidden, strings.Join(missing, ", "))
	case refused && filtered():
		return &refusal{"a seccomp filter, as containers have, keeps moonlap from bpf or perf_event_open: allow them in the container's profile," +
			" or start it with --security-opt seccomp=unconfined (Kubernetes: seccompProfile of type Unconfined)", err}
	case lockedDown():
		return &refusal{"the kernel is locked down (confidentiality), so that no program may read memory: boot with lockdown=integrity or none", err}
	case errors.As(err, &verifier), errors.Is(err, ebpf.ErrNotSupported), errors.Is(err, unix.EINVAL):
		if typeless() {
			return &refusal{"this kernel does not describe its types (BTF): there is no " + types + "; use one built with CONFIG_DEBUG_INFO_BTF", err}
		}
		if n := kernelVersion(kernelRelease()); n != [2]int{} && (n[0] < 5 || n[0] == 5 && n[1] < 18) {
			return &refusal{fmt.Sprintf("this kernel is Linux %s, which is too old: the oldest one that was tried is 6.1", kernelRelease()), err}
		}
		return fmt.Errorf("%w: %s: Linux %s refuses moonlap's programs, which have been tried on 6.1 and newer; report it with this: %w",
			ErrUnsupported, step, kernelRelease(), err)
	}
	return fmt.Errorf("%w: %s: %w", ErrUnsupported, step, err)
}

// A refusal says in one line what the kernel lacks; the kernel's own words, which tell a reader less, are behind it.
type refusal struct {
	why string
	err error
}

func (r *refusal) Error() string   { return ErrUnsupported.Error() + ": " + r.why }
func (r *refusal) Unwrap() []error { return []error{ErrUnsupported, r.err} }

// filtered reports whether this program may not make every system call.
func filtered() bool {
	is, err := process.Filtered(os.Getpid())
	return err == nil && is
}

// lockdown tells how far the kernel is locked down: the level that is in effect is in brackets. See kernel_lockdown(7).
var lockdown = "/sys/kernel/security/lockdown"

func lockedDown() bool {
	b, err := os.ReadFile(lockdown)
	return err == nil && strings.Contains(string(b), "[confidentiality]")
}

// kernelVersion reads the first two numbers of a release, such as 6.12.5-amd64; zeros where it has none.
func kernelVersion(release string) (n [2]int) {
	fmt.Sscanf(release, "%d.%d", &n[0], &n[1])
	return n
}

// types is where a kernel that was built with BTF tells its types.
var types = "/sys/kernel/btf/vmlinux"

func typeless() bool {
	_, err := os.Stat(types)
	return errors.Is(err, os.ErrNotExist)
}

// missing lists the capabilities that this process lacks.
func missing() []string {
	var all []string
	for _, c := range needs {
		if has(c.number) || c.number >= 38 && has(capSysAdmin) {
			continue
		}
		all = append(all, c.name)
	}
	return all
}

// has reports whether a capability is in effect.
func has(capability uint) bool {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, "CapEff:"); ok {
			var set uint64
			fmt.Sscanf(strings.TrimSpace(value), "%x", &set)
			return set>>capability&1 == 1
		}
	}
	return false
}

// Check tries what sampling takes on this machine, with this process's rights.
func Check() []Checked {
	session, err := Open()
	sleeps := err
	if err == nil {
		sleeps = session.checkSleeps()
		err = session.Close()
	}
	_, names := KernelSymbols()
	return []Checked{
		{"sample through eBPF", err},
		{"tell when workers sleep, and turns of the event loop", sleeps},
		{ProbeFunctions, uprobes()},
		{ProbeReturns, returnTrial()},
		{NameKernel, names},
	}
}

// uprobeEvents is where a kernel reports that it has uprobes.
var uprobeEvents = "/sys/bus/event_source/devices/uprobe/type"

// uprobes reports whether functions of programs can be probed.
func uprobes() error {
	if features.HaveBPFLinkUprobeMulti() == nil {
		return nil
	}
	if _, err := os.Stat(uprobeEvents); err != nil {
		return fmt.Errorf("it takes a kernel with CONFIG_UPROBE_EVENTS (%w)", err)
	}
	return nil
}
