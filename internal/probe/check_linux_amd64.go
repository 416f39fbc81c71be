package probe

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// needs are the capabilities that sampling takes, and their numbers in capability.h.
var needs = []struct {
	name   string
	number uint
	why    string
}{
	{"CAP_BPF", 39, "loads the programs"},
	{"CAP_PERFMON", 38, "lets them read memory, and attaches them"},
	{"CAP_SYS_PTRACE", 19, "looks into other users' processes"},
}

const capSysAdmin = 21 // stands for the first two

// explain puts into words why a step failed: which capability is missing, or what the kernel lacks.
func explain(step string, err error) error {
	if err == nil {
		return nil
	}
	var verifier *ebpf.VerifierError
	switch missing := missing(); {
	case (errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)) && len(missing) > 0:
		return fmt.Errorf("%w: %s: this takes root, or %s (%w)", ErrUnsupported, step, strings.Join(missing, " and "), err)
	case errors.As(err, &verifier), errors.Is(err, ebpf.ErrNotSupported), errors.Is(err, unix.EINVAL):
		return fmt.Errorf("%w: %s: this takes Linux 5.17 or newer, with its own BTF (%w)", ErrUnsupported, step, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrUnsupported, step, err)
}

// missing lists the capabilities that this process lacks.
func missing() []string {
	var all []string
	for _, c := range needs {
		if has(c.number) || c.number >= 38 && has(capSysAdmin) {
			continue
		}
		all = append(all, c.name+" (it "+c.why+")")
	}
	return all
}

// has tells whether a capability is in effect.
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

// Check tries what sampling takes on this machine, on this program itself: to load the programs, and
// to attach them to a thread's CPU clock; and whether names of kernel functions can be read.
func Check() []Checked {
	s, err := Open()
	all := []Checked{{"load the programs", err}}
	if err == nil {
		defer s.Close()
		a, err := attach(s.objects.OnCpu, os.Getpid(), time.Second, mostWorkers) // a number that no worker has
		if err == nil {
			a.close()
		}
		all = append(all, Checked{"attach to a CPU clock", explain("attach to a CPU clock", err)})
	}
	_, err = KernelSymbols()
	return append(all, Checked{"name kernel functions", err})
}
