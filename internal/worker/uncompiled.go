package worker

import (
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/process"
)

// Uncompiled is why the code of a sample was interpreted; equal ones are one.
type Uncompiled struct {
	*luajit.Uncompiled
	Root Frame // the function in which a trace would have begun; its line is that of the loop, if it is one
	End  End   // where its trace ends, if that is why
}

// An Exit is where a sample left a trace; equal ones are one.
type Exit struct {
	Trace, Number int
	Root          Frame // where the trace begins, or the one that it is a branch of
	Loop          bool  // it begins with a loop
	To            Frame // where the interpreter goes on; no Kind: not known
}

// Compilation is what is known of the compilers of one worker, or of several.
type Compilation struct {
	Limits  luajit.Limits // of each worker, the largest ones; zero: not known
	Traces  int           // of one worker at once, the most that were seen
	Area    uint64        // bytes of memory for machine code, in the same way
	Flushes int           // seen in all, at least
	Ends    map[End]int   // of traces there are at the end: how many
}

// An End is a place where traces end, because what is called there is not compiled.
type End struct {
	At, Called Frame
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

// compiler follows a worker's compiler, and puts into words what it says.
type compiler struct {
	*luajit.Compiler
	uncompiled map[*luajit.Uncompiled]*Uncompiled
	exits      map[Exit]*Exit
}

// followCompiler begins to follow the worker's compiler, if nobody does yet.
func (w *Worker) followCompiler() {
	if w.compiler.Compiler == nil {
		w.compiler = compiler{luajit.NewCompiler(w.VM), map[*luajit.Uncompiled]*Uncompiled{}, map[Exit]*Exit{}}
	}
	w.compiler.Follow()
}

// judge tells why the view's code was interpreted, or where it left a trace.
func (w *Worker) judge(s *Sample, v view) {
	if !v.lua.Running {
		return
	}
	w.followCompiler()
	switch c := &w.compiler; s.State {
	case luajit.Interpreted:
		found := c.Uncompiled(v.lua.Frames)
		if c.uncompiled[found] == nil {
			one := &Uncompiled{Uncompiled: found}
			if found.Kind != "" {
				one.Root = w.luaFrame(found.Frame)
			}
			if found.End != nil {
				one.End = w.end(*found.End)
			}
			c.uncompiled[found] = one
		}
		s.Uncompiled = c.uncompiled[found]
	case luajit.TraceExit:
		if v.exit == 0 {
			return
		}
		found, ok := w.VM.Exit(v.exit)
		if !ok {
			return
		}
		e := Exit{Trace: found.Trace, Number: found.Number, Root: w.luaFrame(found.Root.Frame), Loop: found.Root.Loop}
		if found.To.Kind != "" {
			e.To = w.luaFrame(found.To)
		}
		if c.exits[e] == nil {
			c.exits[e] = &e
		}
		s.Exit = c.exits[e]
	}
}

// exitOf reads which trace the machine leaves at the moment of a view; 0: that is not known.
func (w *Worker) exitOf(memory process.Memory, state luajit.State) uint64 {
	if w.compiler.Compiler == nil || state != luajit.TraceExit {
		return 0
	}
	at := w.compiler.ExitAt()
	if at == 0 {
		return 0
	}
	r := &process.Reader{Memory: memory}
	if numbers := r.U64(at); r.Err == nil {
		return numbers
	}
	return 0
}

// compilation is what is known of the worker's compiler by now, or as of a while before its end; nil where it was not
// followed.
func (w *Worker) compilation() *Compilation {
	if w.compiler.Compiler == nil {
		return nil
	}
	if stat, err := w.Stat(); err == nil && !stat.Ended() {
		w.Forget()
		w.compiler.Refresh()
	}
	c := w.compiler.Compilation()
	out := &Compilation{Limits: c.Limits, Traces: c.Most, Area: c.Area, Flushes: c.Flushes, Ends: map[End]int{}}
	for _, e := range c.Ends {
		out.Ends[w.end(e)]++
	}
	return out
}

func (w *Worker) end(e luajit.End) End { return End{w.luaFrame(e.At), w.luaFrame(e.Called), e.GoesOn} }
