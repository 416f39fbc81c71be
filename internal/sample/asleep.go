package sample

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/moonlap/moonlap/internal/probe"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/profile"
)

// whereabouts tells what the worker's main thread is at, and where it is asleep in anything but its wait for events,
// what its stacks are: it need not be stopped for that.
func (w *Worker) whereabouts() (probe.Whereabouts, *Sample) {
	call, registers, ok := w.sleepsIn()
	if !ok {
		return probe.Running, nil
	}
	v, err := w.view(w.Running(), w.Process, registers)
	if name, _ := causeOf(call, 0); strings.HasPrefix(name, "epoll_") && (err != nil || !v.lua.Running) {
		return probe.Idle, nil
	}
	again, same, ok := w.sleepsIn()
	if err != nil || !ok || again != call || same != registers {
		return probe.Asleep, nil
	}
	s := Sample{Asleep: true, Sleep: &Sleep{}, Time: probe.Now(), Stack: w.kernelStack()}
	state := uint32(0)
	if stat, err := w.Stat(); err == nil && stat.State == 'D' {
		state = uninterruptible
	}
	s.Sleep.Call, s.Sleep.Cause = causeOf(call, state)
	w.describe(&s, v)
	s = s.light()
	return probe.Asleep, &s
}

// sleepsIn is the system call that the main thread sleeps in, -1: none, and those of its registers that the kernel
// tells without stopping it (proc_pid_syscall(5)); ok is false where it runs, or where the kernel doesn't tell.
func (w *Worker) sleepsIn() (call int, r process.Registers, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", w.PID))
	fields := strings.Fields(string(b))
	if err != nil || len(fields) < 3 { // "running"
		return 0, r, false
	}
	call, err = strconv.Atoi(fields[0])
	stack, err1 := strconv.ParseUint(fields[len(fields)-2], 0, 64)
	code, err2 := strconv.ParseUint(fields[len(fields)-1], 0, 64)
	return call, process.Registers{RSP: stack, RIP: code}, err == nil && err1 == nil && err2 == nil
}

// kernelStack is the stack in the kernel of a thread that sleeps, innermost first: lines such as
// "[<0>] do_wait+0x5f/0x130". It takes root.
func (w *Worker) kernelStack() []profile.Frame {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stack", w.PID))
	var all []profile.Frame
	for line := range strings.Lines(string(b)) {
		_, function, ok := strings.Cut(line, "] ")
		if name, _, found := strings.Cut(function, "+"); ok && found {
			all = append(all, profile.Frame{Kind: profile.Kernel, Function: name, File: "kernel"})
		}
	}
	return all
}
