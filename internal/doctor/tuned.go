package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/moonlap/moonlap/internal/runtime"
)

// A Tuning is what one command gets for itself. Nothing of it has to be put back: it ends
// with the command.
type Tuning struct {
	CPUs   []int // that it may run on; nil: all
	Nice   int   // 0: as it is
	NoASLR bool
}

// RunTuned runs a command with the tuning, its stdio ours (but for a terminal's stdin). What could not be set is reported
// before it starts. When ctx ends, the command gets SIGINT, as from the terminal; it has a
// process group of its own, so that one Ctrl-C is one signal. It dies with us. The status
// is the command's own, 128 and the number after a signal.
func RunTuned(ctx context.Context, t Tuning, args []string, told func(string)) (status int, err error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// A process in the background is stopped for good when it reads from the terminal.
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		cmd.Stdin = os.Stdin
	}
	cmd.Env = runtime.GuardedEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	failed := make(chan error)
	ended := make(chan struct{})
	go func() {
		// All of this belongs to a thread, which the child is forked from. It is never
		// unlocked: it ends with this goroutine, and no other ever runs on it. The signal
		// at the parent's death also comes at this thread's, so it waits here.
		goruntime.LockOSThread()
		t.apply(told)
		err := runtime.StartGuarded(cmd)
		failed <- err
		if err == nil {
			cmd.Wait()
			close(ended)
		}
	}()
	if err := <-failed; err != nil {
		return 0, err
	}
	release, err := runtime.Guard(cmd.Process.Pid)
	if err != nil {
		told(err.Error())
		release = func() {}
	}
	defer release()
	select {
	case <-ended:
	case <-ctx.Done():
		syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		<-ended
	}
	if state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && state.Signaled() {
		return 128 + int(state.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// apply sets what belongs to this thread.
func (t Tuning) apply(told func(string)) {
	tell := func(what string, err error) {
		if err != nil {
			what = fmt.Sprintf("%s: not set: %v", what, err)
		}
		told(what)
	}
	if t.CPUs != nil {
		var set unix.CPUSet
		for _, cpu := range t.CPUs {
			set.Set(cpu)
		}
		tell("runs on CPU "+listOf(t.CPUs), unix.SchedSetaffinity(0, &set))
	}
	if t.Nice != 0 {
		tell(fmt.Sprintf("priority (nice) %d", t.Nice), unix.Setpriority(unix.PRIO_PROCESS, 0, t.Nice))
	}
	if t.NoASLR {
		const addrNoRandomize = 0x0040000 // personality(2)
		var err error
		if _, _, errno := unix.RawSyscall(unix.SYS_PERSONALITY, addrNoRandomize, 0, 0); errno != 0 {
			err = errno
		}
		tell("ASLR off, for this command", err)
	}
}

func listOf(cpus []int) string {
	var words []string
	for _, cpu := range cpus {
		words = append(words, strconv.Itoa(cpu))
	}
	return strings.Join(words, ",")
}

// Quietest is the CPU that devices interrupt least, of those that we may run on; among
// equals the last, as CPU 0 does the kernel's chores. ok is false where there is no choice.
func (m Machine) Quietest() (cpu int, ok bool) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil || set.Count() < 2 {
		return 0, false
	}
	counts, err := m.interrupts()
	if err != nil {
		return 0, false
	}
	best := -1
	for n, count := range counts {
		if set.IsSet(n) && (best < 0 || count <= counts[best]) {
			best = n
		}
	}
	return best, best >= 0
}

// interrupts counts those of devices for each CPU; see proc(5), /proc/interrupts. The
// lines with a name in place of a number are the CPUs' own: timers, calls to each other.
func (m Machine) interrupts() ([]int64, error) {
	text, err := m.read("proc/interrupts")
	if err != nil {
		return nil, err
	}
	head, rest, _ := strings.Cut(text, "\n")
	columns := strings.Fields(head)
	var counts []int64
	for _, column := range columns {
		n, err := strconv.Atoi(strings.TrimPrefix(column, "CPU"))
		if err != nil || n < 0 || n > 1<<16 {
			return nil, errors.New("/proc/interrupts has no CPUs in its first line")
		}
		counts = slices.Grow(counts, n+1)[:max(len(counts), n+1)]
	}
	for line := range strings.Lines(rest) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if _, err := strconv.Atoi(strings.TrimSuffix(fields[0], ":")); err != nil {
			continue
		}
		for i, field := range fields[1:min(len(fields), len(columns)+1)] {
			if n, err := strconv.ParseInt(field, 10, 64); err == nil {
				cpu, _ := strconv.Atoi(strings.TrimPrefix(columns[i], "CPU"))
				counts[cpu] += n
			}
		}
	}
	return counts, nil
}

// ParseCPUs reads a list as taskset has it: 0,2-4.
func ParseCPUs(list string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		first, last, span := strings.Cut(part, "-")
		if !span {
			last = first
		}
		a, errA := strconv.Atoi(first)
		b, errB := strconv.Atoi(last)
		if errA != nil || errB != nil || a < 0 || b < a || b >= 1024 {
			return nil, fmt.Errorf("%q is no list of CPUs such as 1 or 0,2-4", list)
		}
		for ; a <= b; a++ {
			cpus = append(cpus, a)
		}
	}
	return cpus, nil
}

// Program is the path of a command, where this machine has it.
func Program(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return exec.LookPath(name)
	}
	for _, folder := range filepath.SplitList(path) {
		if file, err := exec.LookPath(filepath.Join(folder, name)); err == nil && filepath.IsAbs(folder) {
			return file, nil
		}
	}
	return "", fmt.Errorf("no program %q in $PATH", name)
}
