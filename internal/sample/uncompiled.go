package sample

import (
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/profile"
)

// Uncompiled is why the code of a sample was interpreted; equal ones are one.
type Uncompiled struct {
	*luajit.Uncompiled
	Root profile.Frame // the function in which a trace would have begun; its line is that of the loop, if it is one
	End  End           // where its trace ends, if that is why
}

// An Exit is where a sample left a trace; equal ones are one.
type Exit struct {
	Trace, Number int
	Root          profile.Frame // where the trace begins, or the one that it is a branch of
	Loop          bool          // it begins with a loop
	To            profile.Frame // where the interpreter goes on; no Kind: not known
}

// A Compilation is what is known of the compilers of one worker's machines, or of several workers'.
type Compilation struct {
	Limits  luajit.Limits // of each machine, the largest ones; zero: not known
	Traces  int           // of one machine at once, the most that were seen
	Area    uint64        // bytes of memory for machine code, in the same way
	Flushes int           // seen in all, at least
	Ends    map[End]int   // of traces there are at the end: how many
}

// An End is a place where traces end, because what is called there is not compiled.
type End struct {
	At, Called profile.Frame
	GoesOn     bool // another trace does, behind the call
}

// And returns both together.
func (c Compilation) And(other Compilation) Compilation {
	l := &c.Limits
	l.Traces, l.Side, l.Code = max(l.Traces, other.Limits.Traces), max(l.Side, other.Limits.Side), max(l.Code, other.Limits.Code)
	c.Traces, c.Area = max(c.Traces, other.Traces), max(c.Area, other.Area)
	c.Flushes += other.Flushes
	all := map[End]int{}
	for _, part := range []map[End]int{c.Ends, other.Ends} {
		for e, n := range part {
			all[e] += n
		}
	}
	c.Ends = all
	return c
}

// compiler follows that of one of a worker's machines, and puts into words what it says.
type compiler struct {
	*luajit.Compiler
	uncompiled map[*luajit.Uncompiled]*Uncompiled
	exits      map[Exit]*Exit
}

// followCompilers begins to follow the worker's compilers, if nobody does yet, or looks at them again.
func (w *Worker) followCompilers() {
	for _, m := range w.Machines() {
		c := w.compilers[m.VM.Global]
		if c == nil {
			c = &compiler{luajit.NewCompiler(m.VM), map[*luajit.Uncompiled]*Uncompiled{}, map[Exit]*Exit{}}
			if w.compilers == nil {
				w.compilers = map[uint64]*compiler{}
			}
			w.compilers[m.VM.Global] = c
		}
		c.Follow()
	}
}

// exitAt is where a machine of the worker keeps which trace it leaves, which is the same for all; 0: that is not known.
func (w *Worker) exitAt() uint64 {
	for _, c := range w.compilers {
		if at := c.ExitAt(); at != 0 {
			return at
		}
	}
	return 0
}

// exitOf reads which trace a machine leaves at the moment of a view; 0: that is not known.
func (w *Worker) exitOf(vm *luajit.VM, memory process.Memory, state luajit.State) uint64 {
	at := w.exitAt()
	if at == 0 || state != luajit.TraceExit {
		return 0
	}
	r := &process.Reader{Memory: memory}
	if numbers := r.U64(vm.Global + at); r.Err == nil {
		return numbers
	}
	return 0
}

// judge tells why the view's code was interpreted, or where it left a trace.
func (w *Worker) judge(s *Sample, v view) {
	if !v.lua.Running {
		return
	}
	w.followCompilers()
	vm := w.VM
	if w.Other != nil && v.machine == w.Block(w.Other) {
		vm = w.Other
	}
	switch c := w.compilers[vm.Global]; s.State {
	case luajit.Interpreted:
		s.Uncompiled = w.uncompiled(c, v.lua.Frames)
	case luajit.TraceExit:
		if v.exit == 0 {
			return
		}
		found, ok := vm.Exit(v.exit)
		if !ok {
			return
		}
		e := Exit{Trace: found.Trace, Number: found.Number, Root: w.LuaFrame(found.Root.Frame), Loop: found.Root.Loop}
		if found.To.Kind != "" {
			e.To = w.LuaFrame(found.To)
		}
		if c.exits[e] == nil {
			c.exits[e] = &e
		}
		s.Exit = c.exits[e]
	}
}

func (w *Worker) uncompiled(c *compiler, frames []luajit.Frame) *Uncompiled {
	found := c.Uncompiled(frames)
	known := c.uncompiled[found]
	if known == nil {
		known = &Uncompiled{Uncompiled: found}
		if found.Kind != "" {
			known.Root = w.LuaFrame(found.Frame)
		}
		if found.End != nil {
			known.End = w.end(*found.End)
		}
		c.uncompiled[found] = known
	}
	return known
}

// compilation is what is known of the worker's compilers by now, or as of a while before its end; nil where they were not
// followed.
func (w *Worker) compilation() *Compilation {
	if w.compilers == nil {
		return nil
	}
	lives := !w.Ended()
	if lives {
		w.Forget()
	}
	out := &Compilation{}
	for _, follows := range w.compilers {
		if lives {
			follows.Refresh()
		}
		c := follows.Compilation()
		one := Compilation{Limits: c.Limits, Traces: c.Most, Area: c.Area, Flushes: c.Flushes, Ends: map[End]int{}}
		for _, e := range c.Ends {
			one.Ends[w.end(e)]++
		}
		*out = out.And(one)
	}
	return out
}

func (w *Worker) end(e luajit.End) End { return End{w.LuaFrame(e.At), w.LuaFrame(e.Called), e.GoesOn} }
