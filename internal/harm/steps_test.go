package harm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// stepVariable makes this program one that starts moonlap and traces it, and has a worker end at one of moonlap's system calls: the
// worker's process ID, and the number of the call.
const stepVariable = "MOONLAP_HARM_STEP"

// mostSteps is how many system calls of those in about each command makes, at least. Those at the beginning, by which it finds its
// way in the worker, are more different from each other than those to come.
const mostSteps = 5000

// stepped has a worker end at a random step of the command: before one of those system calls.
func stepped(b *bed, r *rand.Rand) []string {
	pids := b.workers()
	pid := pids[r.IntN(len(pids))]
	b.load.ends(dies, pid)
	step := int(math.Exp(r.Float64() * math.Log(mostSteps)))
	return []string{"env", fmt.Sprintf("%s=%d %d", stepVariable, pid, step)}
}

// endsAtStep waits for that. Moonlap ends by itself, and where it fails, says why in one line.
func endsAtStep(b *bed, l *look, _ *rand.Rand) error {
	err := l.finish()
	if err == nil {
		out := l.output.String()
		if code := l.ProcessState.ExitCode(); code != 0 && code != 1 && code != 3 || code == 1 && !strings.Contains(out, "moonlap: ") ||
			strings.Contains(out, "goroutine ") || strings.Contains(out, "panic") {
			err = fmt.Errorf("exit status %d: %s", code, out)
		}
	}
	if e := awaited(b.healthy); err == nil {
		err = e
	}
	b.replaced()
	return err
}

// about are system calls by which moonlap looks into a worker.
var about = map[uint64]bool{
	unix.SYS_OPENAT: true, unix.SYS_OPENAT2: true, unix.SYS_PREAD64: true, unix.SYS_PROCESS_VM_READV: true, unix.SYS_READLINKAT: true, unix.SYS_NEWFSTATAT: true,
	unix.SYS_PTRACE: true, unix.SYS_BPF: true, unix.SYS_PERF_EVENT_OPEN: true, unix.SYS_PIDFD_OPEN: true, unix.SYS_GETDENTS64: true,
	unix.SYS_WAITID: true, unix.SYS_IOCTL: true,
}

// endAtStep starts this program as moonlap, with arguments, and traces it and what it starts. Its exit status is moonlap's.
func endAtStep(words string, arguments []string) int {
	var worker, number int
	if _, err := fmt.Sscan(words, &worker, &number); err != nil {
		panic(err)
	}
	runtime.LockOSThread()
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self, arguments...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, stepVariable+"=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	pid, status := cmd.Process.Pid, unix.WaitStatus(0)
	unix.Wait4(pid, &status, unix.WALL, nil)
	const exitKill = 0x100000
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_TRACEFORK|unix.PTRACE_O_TRACEVFORK|exitKill); err != nil {
		panic(err)
	}
	unix.PtraceSyscall(pid, 0)
	inside := map[int]bool{} // a system call
	code := 1
	for {
		thread, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil: // all that moonlap started has ended, too
			return code
		case thread == pid && status.Exited():
			code = status.ExitStatus()
			continue
		case !status.Stopped():
			continue
		}
		signal := status.StopSignal()
		switch {
		case signal == unix.SIGTRAP|0x80:
			signal = 0
			if inside[thread] = !inside[thread]; inside[thread] && number > 0 {
				if call, known := callNumber(thread); known && about[call] {
					if number--; number == 0 {
						unix.Kill(worker, unix.SIGKILL)
					}
				}
			}
		case int(status)>>16 != 0, signal == unix.SIGTRAP: // an event; a thread that begins
			signal = 0
		case signal == unix.SIGSTOP && !inside[thread]: // likewise
			signal = 0
		}
		unix.PtraceSyscall(thread, int(signal))
	}
}
