package sample

import (
	"cmp"
	"errors"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/nginx/ngxlua"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/worker"
)

// A Worker is one that is sampled: with what its samples have in common, which is kept once.
type Worker struct {
	*worker.Worker

	Hold time.Duration // how long a sample may stop it; 0: DefaultHold

	arguments map[lineCall][]string // that lines of Lua give to what they call, where these are constants
	stacks    stacks
	locks     locks
	compilers map[uint64]*compiler // by the address of their VM
	kept      time.Time            // since when what samples of the kernel read of the worker is kept
	registers process.Registers    // of the last sample
}

// Of prepares to sample a worker.
func Of(w *worker.Worker) *Worker { return &Worker{Worker: w} }

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

// maxLua is how many Lua frames are shown at each end of a stack. A deep recursion has thousands.
const maxLua = 200

// DefaultHold is how long a sample may stop a worker, unless another time is set.
const DefaultHold = 2 * time.Millisecond

// Sample stops the worker for Hold at most, and reads its stack.
func (w *Worker) Sample() (Sample, error) {
	stat, err := w.untraced()
	if err != nil {
		return Sample{}, err
	}
	w.Settle()
	var s Sample
	var v view
	s.Pause, err = w.Stopped(cmp.Or(w.Hold, DefaultHold), func(r process.Registers) error {
		w.registers = r
		w.ahead(r)
		var err error
		v, err = w.view(w.Running(), w.Process, r)
		return err
	})
	w.Refresh()
	if err != nil {
		return s, err
	}
	w.describe(&s, v)
	if s.Cut = len(v.lua.Cut) > 0; s.Cut {
		s.LeftOut, _ = w.Running().Left(v.lua)
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
	if clock := w.Clock(); clock != 0 {
		v.turn = (&process.Reader{Memory: memory}).U64(clock)
	}
	v.machine = w.Block(vm)
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
		v.inner, v.partial = w.Unwind(memory, r, false, v.lua.Running)
	}
	switch {
	case v.lua.Running && v.lua.Caller.RIP == 0:
		v.partial = errors.Join(v.partial, process.ErrLeftOut)
	case v.lua.Running:
		v.outer, err = w.Outward(memory, v.lua.Caller)
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
		stack = append(stack, w.CFrame(r.RIP, i > 0))
	}
	for i, f := range v.lua.Frames {
		if left := len(v.lua.Frames) - 2*maxLua; left > 0 && i >= maxLua && i < maxLua+left {
			if i == maxLua {
				stack = append(stack, profile.Frame{Kind: profile.Builtin, Function: luajit.LeftOut})
			}
			continue
		}
		stack = append(stack, w.LuaFrame(f))
	}
	for _, r := range v.outer {
		stack = append(stack, w.CFrame(r.RIP, true))
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
