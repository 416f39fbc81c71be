package worker

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/profile"
)

// A Sample is what a worker did at one moment.
type Sample struct {
	State   luajit.State
	Lua     bool            // Lua code is on the stack
	Machine string          // whose State it is: see Machine.Name
	Asleep  bool            // the process waited for something
	Halted  bool            // a signal (SIGSTOP) has stopped it
	Turn    uint64          // nginx's clock in milliseconds, which stands still until the event loop turns
	InUse   uint64          // bytes of Lua's heap
	Request ngxlua.Request  // zero where it served none
	Phase   string          // whose Lua ran: access, content, timer, …; "": that is not known
	Stack   []profile.Frame // innermost first; equal ones share their memory
	Partial error           // why C frames are missing, where some are
	Pause   time.Duration   // that the worker was stopped for, at most
	Cut     bool            // that was not long enough for the whole stack,
	LeftOut int             // how many more functions of Lua that has, at least
	Lock    string          // zone of shared memory whose lock it waited for, or OtherLock; "": it did not
	Time    time.Duration   // since the machine started, where the kernel took it; else 0
	Thread  bool            // of another thread than the one that serves requests
	Sleep   *Sleep          // it fell asleep at this moment; nil: that is not known

	Uncompiled *Uncompiled // it was interpreted, and why; nil: it was not
	Exit       *Exit       // it left a trace; nil: it did not, or that is not known
	Regex      *Regex      // it works on a regular expression, or a pattern of Lua's; nil: it doesn't

	Bytes, Objects float64 // that Lua allocated, for which it stands; 0: it is none of allocations
}

// A Sleep is a time in which the worker did not run, although it had not asked for events.
type Sleep struct {
	Call   string        // system call that put it to sleep
	Cause  Cause         // what for
	For    time.Duration // until it was woken
	Queued time.Duration // from then on until a processor was free for it
}

const (
	maxC = 128 // C frames of one sample
	// maxLua is how many Lua frames are shown at each end of a stack. A deep recursion has thousands.
	maxLua = 200
)

// DefaultHold is how long a sample may stop a worker, unless another time is set.
const DefaultHold = 2 * time.Millisecond

// Sample stops the worker for a moment, Hold at most, and looks at its stack.
func (w *Worker) Sample() (Sample, error) {
	stat, err := w.untraced()
	if err != nil {
		return Sample{}, err
	}
	w.settle()
	var s Sample
	var v view
	s.Pause, err = w.Stopped(cmp.Or(w.Hold, DefaultHold), func(r process.Registers) error {
		w.registers = r
		w.ahead(r)
		var err error
		v, err = w.view(w.running(), w.Process, r)
		return err
	})
	if w.unmapped || w.unnamed {
		w.refresh()
	}
	if err != nil {
		return s, err
	}
	w.describe(&s, v)
	if s.Cut = len(v.lua.Cut) > 0; s.Cut {
		s.LeftOut, _ = w.running().Left(v.lua)
	}
	s.Asleep = stat.State == 'S' || stat.State == 'D'
	s.Halted = stat.State == 'T'
	return s, nil
}

// ahead has the C stack read before all else, so that it is there when the time is over.
func (w *Worker) ahead(r process.Registers) {
	const page, most = 4096, 4
	for n := range uint64(most) {
		if w.ReadAt(make([]byte, 8), r.RSP+n*page) != nil {
			return
		}
	}
}

// A view is what was read of a worker at one moment; its frames have no names yet.
type view struct {
	machine      string
	turn         uint64
	lua          luajit.Stack
	inner, outer []process.Registers // C frames that Lua called, and those that called Lua
	partial      error               // why C frames are missing, where some are
	request      ngxlua.Request
	phase        string
	exit         uint64 // see luajit.VM.Exit; 0: none
}

// view reads what the worker did when its main thread had the registers and its memory was this.
func (w *Worker) view(vm *luajit.VM, memory process.Memory, r process.Registers) (v view, err error) {
	if clock := w.clock(); clock != 0 {
		v.turn = (&process.Reader{Memory: memory}).U64(clock)
	}
	v.machine = w.ofBlock(vm)
	status, err := vm.Status()
	if err != nil {
		return v, err
	}
	if status.Running { // before the stack, which may take too long
		request, err := vm.Request(status.Current)
		if err != nil {
			return v, err
		}
		v.request, _ = w.Request(memory, request)
		v.phase = w.PhaseIn(memory, v.request.Address)
	}
	if v.lua, err = vm.Stack(r); err != nil {
		return v, err
	}
	v.exit = w.exitOf(vm, memory, v.lua.State)
	if !v.lua.Running || v.lua.Leaf {
		v.inner, v.partial = w.unwind(memory, r, false, v.lua.Running)
	}
	switch {
	case v.lua.Running && v.lua.Caller.RIP == 0:
		v.partial = errors.Join(v.partial, process.ErrLeftOut)
	case v.lua.Running:
		v.outer, err = w.outward(memory, v.lua.Caller)
		v.partial = errors.Join(v.partial, err)
	}
	return v, nil
}

// describe puts a view into a sample, with names. The sample's stack may have frames of the kernel already.
func (w *Worker) describe(s *Sample, v view) {
	s.Turn, s.Request, s.Partial = v.turn, v.request, v.partial
	s.Machine, s.State, s.Lua, s.InUse = v.machine, v.lua.State, v.lua.Running, v.lua.InUse
	stack := s.Stack
	w.locks.find(w)
	s.Lock = w.locks.of(v.inner)
	for i, r := range v.inner {
		stack = append(stack, w.cFrame(r.RIP, i > 0))
	}
	for i, f := range v.lua.Frames {
		if left := len(v.lua.Frames) - 2*maxLua; left > 0 && i >= maxLua && i < maxLua+left {
			if i == maxLua {
				stack = append(stack, profile.Frame{Kind: profile.Builtin, Function: luajit.LeftOut})
			}
			continue
		}
		stack = append(stack, w.luaFrame(f))
	}
	for _, r := range v.outer {
		stack = append(stack, w.cFrame(r.RIP, true))
	}
	namePCRE(stack)
	s.Stack = w.stacks.shared(stack)
	w.regex(s, v.lua.Frames)
	s.Phase = cmp.Or(v.phase, ngxlua.PhaseOf(stack))
	w.judge(s, v)
}

// untraced is the process's state, when no other moonlap looks at it: then it could not be seen
// whether it sleeps.
func (w *Worker) untraced() (stat process.Stat, err error) {
	const tries = 20
	for range tries {
		if stat, err = w.Stat(); err != nil || stat.State != 't' {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return stat, err
}

// refresh reads anew what is mapped, after code was seen that was not: a library that was loaded
// late, or more of LuaJIT's machine code, which is seen often; and the names of functions that had
// none, as before a program has opened its libraries.
func (w *Worker) refresh() {
	often := time.Second
	if w.unnamed { // the program is just starting
		often /= 10
	}
	if w.unmapped = false; time.Since(w.refreshed) < often {
		return
	}
	w.refreshed = time.Now()
	if w.unnamed {
		w.unnamed = false
		w.learnNames()
	}
	if w.ReadMaps() == nil { // else it has ended, which the next look says
		w.readObjects()
	}
}

// unwind follows the C frames from the registers on, up to the outermost one or to where Lua begins:
// its frames have been walked already. The error tells of a chain that broke. after tells that the
// registers are those behind a call, inLua that Lua called the C function, or was called by it.
func (w *Worker) unwind(memory process.Memory, r process.Registers, after, inLua bool) ([]process.Registers, error) {
	var all []process.Registers
	for len(all) < maxC {
		// The innermost function is none of Lua's, else there were nothing to unwind. It may be
		// machine code of another compiler's, that of regular expressions.
		if len(all) > 0 && inLua && w.runsLua(r.RIP) {
			return all, nil
		}
		all = append(all, r)
		next, err := w.Caller(memory, r, after)
		switch {
		case err == process.ErrOutermost:
			return all, nil
		case err != nil:
			if len(all) == 1 && !after {
				if rest, ok := w.foreign(memory, r, inLua); ok {
					return append(all, rest...), nil
				}
			}
			_, known := w.Mapped(r.RIP)
			w.unmapped = w.unmapped || !known
			return all, err
		}
		r, after = next, true
	}
	return all, fmt.Errorf("more than %d C frames", maxC)
}

// outward follows the C frames that called Lua, from the registers on. Where they lead into Lua again,
// a C function that Lua had called has called back, as string.gsub does: it stands among Lua's frames,
// which have been walked already, so only those count that called Lua in the first place.
func (w *Worker) outward(memory process.Memory, r process.Registers) ([]process.Registers, error) {
	const most = 256 // C functions that call back, and coroutines; LuaJIT's limit is 200 C levels
	for range most {
		all, err := w.unwind(memory, r, true, true)
		if err != nil || len(all) == 0 {
			return all, err
		}
		if r, err = w.Caller(memory, all[len(all)-1], true); err != nil || !w.VM.Asm.Contains(r.RIP) {
			return all, nil // the outermost, or a trace, whose frame has no rule
		}
		for n := 0; n < most && w.VM.Asm.Contains(r.RIP); n++ {
			if r, err = w.Caller(memory, r, true); err != nil {
				return all, err
			}
		}
	}
	return nil, fmt.Errorf("more than %d C functions that call back", most)
}

// runsLua tells whether machine code is the interpreter's or a trace's, which is of no file.
func (w *Worker) runsLua(address uint64) bool {
	if w.VM.Asm.Contains(address) {
		return true
	}
	m, ok := w.Mapped(address)
	w.unmapped = w.unmapped || !ok
	return !ok || m.Path == ""
}

// probed is who called a function whose return is probed, where only the kernel knows the return address and a
// look without its help, by ptrace, does not: what lies between it and Lua is missing.
const probed = "(a probe at a function's return)"

func (w *Worker) cFrame(address uint64, after bool) profile.Frame {
	f := profile.Frame{Kind: profile.C}
	if m, ok := w.Mapped(address); ok && m.Path == "[uprobes]" {
		f.Function = probed
		return f
	}
	if after {
		address-- // a return address may be the next function's first
	}
	o, err := w.ObjectAt(address)
	if err != nil {
		f.Function = noFile // its address would be another one in each look
		return f
	}
	f.File = o.Name()
	name, _, ok := o.Function(address)
	if !ok {
		// A static function of a stripped program: its start, for whoever has its debug symbols.
		name = fmt.Sprintf("%s+%#x", o.Name(), o.Start(address)-o.Bias)
	}
	f.Function = name
	return f
}

func (w *Worker) luaFrame(f luajit.Frame) profile.Frame {
	if known, ok := w.frames[f]; ok {
		return known
	}
	named := w.nameFrame(f)
	w.frames[f] = named
	return named
}

func (w *Worker) nameFrame(f luajit.Frame) profile.Frame {
	out := profile.Frame{
		Kind: profile.Kind(f.Kind), Function: w.sources.Name(f), File: f.File,
		FirstLine: f.FirstLn, Line: f.Line, LastLine: f.LastLine, Compiled: f.Compiled,
	}
	if name, ok := strings.CutPrefix(out.Function, "coroutine.__"); ok { // the Lua module's own, which coroutine.resume and the others call
		out.Function = "coroutine." + name
	}
	w.unnamed = w.unnamed || f.Unnamed && w.program != nil // nginx has loaded its libraries long since
	if f.Kind == luajit.C && out.Function == "" {
		return w.cFrame(f.Address, false)
	}
	return out
}

// Bounds of what is read of files that Lua's chunks name as their sources: the names are the code's choice.
const (
	mostSource  = 8 << 20  // bytes of one
	mostSources = 64 << 20 // of all of a worker's
)

// open reads a source file as the worker sees it, also in a container of its own.
func (w *Worker) open(file string) ([]byte, error) {
	f, err := w.OpenInside(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > min(mostSource, mostSources-w.sourced) {
		return nil, fmt.Errorf("%s is larger than sources are: %w", file, process.ErrNoFile)
	}
	w.sourced += info.Size()
	return io.ReadAll(io.LimitReader(f, info.Size()))
}
