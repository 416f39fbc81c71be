package probe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/moonlap/moonlap/internal/process"
)

// MayReturn reports whether the returns of a process's functions may be probed. Whatever attaches a return probe asks it before.
//
// From Linux 6.11 on, a function that is probed returns through a system call, uretprobe, which a seccomp filter that does not
// know it rejects: the process dies. Linux 6.12.14, 6.13.3 and 6.14 no longer ask filters about it (commit cf6cb56ef244 of
// Linux, "seccomp: passthrough uretprobe systemcall without filtering"). Distributions port such a change to any kernel of
// theirs, so the kernel is not asked for its version: see tryReturn.
func MayReturn(pid int) error {
	filtered, err := process.Filtered(pid)
	if err != nil || !filtered {
		return err
	}
	if err := returnTrial(); err != nil {
		return fmt.Errorf("process %d runs under a seccomp filter: %w", pid, err)
	}
	return nil
}

// returnTrial is tryReturn's outcome, tried once: it is the kernel's, and that of this process's own filters.
var returnTrial = sync.OnceValue(func() error { return tryReturn(newSystemCalls) })

// systemCalls are those from a number to another.
type systemCalls struct{ from, to uint32 }

// newSystemCalls are what a filter that lists what it knows may not know: from uretprobe, which is 335, to before those of
// Linux 5.1. uprobe, by which Linux 6.18 reaches probes at long nops, is 336.
var newSystemCalls = systemCalls{335, 423}

// filter has the kernel kill a process that makes one of the system calls.
func (c systemCalls) filter() []unix.SockFilter {
	const number, architecture = 0, 4 // in struct seccomp_data
	jump := func(by uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | by | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	load := func(k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: k}
	}
	is := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	return []unix.SockFilter{
		load(architecture), jump(unix.BPF_JEQ, unix.AUDIT_ARCH_X86_64, 0, 3),
		load(number), jump(unix.BPF_JGE, c.from, 0, 1), jump(unix.BPF_JGT, c.to, 0, 1),
		is(unix.SECCOMP_RET_ALLOW), is(unix.SECCOMP_RET_KILL_PROCESS),
	}
}

// forkReturning starts a child that puts itself under a filter, waits until a byte can be read, and calls the function of
// trapAddress. It exits with 0 then, with 2 where it could not have the filter, and with 3 where nothing came.
func forkReturning(filter, reading, writing uintptr) (pid int)

// tryReturn has a child of this process, under a filter that kills it for any of the system calls, return from a function whose
// return is probed. Its error is ErrReturns where the child did not live to tell.
func tryReturn(rejected systemCalls) error {
	cannot := func(err error) error { return fmt.Errorf("whether %w cannot be tried: %w", ErrReturns, err) }
	seen, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return cannot(Explain("make a map", err))
	}
	defer seen.Close()
	program, err := countingProgram(seen)
	if err != nil {
		return cannot(Explain("load a program", err))
	}
	defer program.Close()

	filter := rejected.filter()
	described := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	var pins runtime.Pinner
	pins.Pin(&filter[0])
	pins.Pin(&described)
	defer pins.Unpin()
	reading, writing, err := os.Pipe()
	if err != nil {
		return cannot(err)
	}
	pid := forkReturning(uintptr(unsafe.Pointer(&described)), reading.Fd(), writing.Fd())
	reading.Close()
	if pid < 0 {
		writing.Close()
		return cannot(fmt.Errorf("no child: %w", unix.Errno(-pid)))
	}
	at, err := attachReturn(program, pid)
	if err == nil {
		_, err = writing.Write([]byte{0})
	}
	writing.Close()
	status, failed := awaitChild(pid)
	if err == nil {
		err = at.Close()
	}
	if err := errors.Join(err, failed); err != nil {
		return cannot(err)
	}
	var returned uint64
	if err := seen.Lookup(uint32(0), &returned); err != nil {
		return cannot(err)
	}
	const noFilter = 2
	switch {
	case status.Signaled():
		return fmt.Errorf("%w, as it killed a trial process just now (%v): on this kernel (Linux %s) the return of a probed function is a "+
			"system call (uretprobe), which the filter rejects; boot Linux 6.12.14, 6.13.3, 6.14 or newer, or run the worker without "+
			"a filter", ErrReturns, status.Signal(), kernelRelease())
	case status.ExitStatus() == noFilter:
		return cannot(errors.New("a child may not have a filter"))
	case status.ExitStatus() != 0 || returned != 1:
		return cannot(fmt.Errorf("the child ended with %d, having returned %d times", status.ExitStatus(), returned))
	}
	return nil
}

// countingProgram counts in a map how often it ran.
func countingProgram(seen *ebpf.Map) (*ebpf.Program, error) {
	spec := ebpf.ProgramSpec{Type: ebpf.Kprobe, License: "MIT", Instructions: asm.Instructions{
		asm.LoadMapValue(asm.R1, seen.FD(), 0),
		asm.Mov.Imm(asm.R2, 1),
		asm.AddAtomic.Mem(asm.R1, asm.R2, asm.DWord, 0),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}}
	if HaveMulti() {
		spec.AttachType = ebpf.AttachTraceUprobeMulti
	}
	return ebpf.NewProgram(&spec)
}

// attachReturn has the program run where a child's function of trapAddress returns. There is no other way around MayReturn.
func attachReturn(program *ebpf.Program, pid int) (link.Link, error) {
	file, offset, err := trapPlace()
	if err != nil {
		return nil, err
	}
	executable, err := link.OpenExecutable(file)
	if err != nil {
		return nil, err
	}
	if HaveMulti() {
		return executable.UretprobeMulti(nil, program, &link.UprobeMultiOptions{Addresses: []uint64{offset}, PID: uint32(pid)})
	}
	return executable.Uretprobe("", program, &link.UprobeOptions{Address: offset, PID: pid})
}

// awaitChild waits until a child has ended, or ends it: it does nothing that takes time.
func awaitChild(pid int) (status unix.WaitStatus, err error) {
	const patience, pause = 10 * time.Second, time.Millisecond
	for end := time.Now().Add(patience); ; time.Sleep(pause) {
		ended, err := unix.Wait4(pid, &status, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || ended == pid {
			return status, err
		}
		if time.Now().After(end) {
			_ = unix.Kill(pid, unix.SIGKILL)
			_, err := unix.Wait4(pid, &status, 0, nil)
			return status, errors.Join(err, fmt.Errorf("the child has not ended in %v", patience))
		}
	}
}

// kernelRelease is what uname tells of the kernel, such as 6.12.5-amd64.
var kernelRelease = func() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "of an unknown version"
	}
	return unix.ByteSliceToString(name.Release[:])
}
