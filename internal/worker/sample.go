package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/process"
)

// A Frame is one function of a sample's stack, of Lua or C.
type Frame struct {
	Kind      luajit.Kind `json:"kind"`
	Function  string      `json:"function"`
	File      string      `json:"file"`                 // source file, or the library of C code
	FirstLine int         `json:"first_line,omitempty"` // of a Lua function
	Line      int         `json:"line,omitempty"`       // that runs; 0: unknown
	Compiled  bool        `json:"compiled,omitempty"`
}

// A Sample is what a worker did at one moment.
type Sample struct {
	State   luajit.State
	Lua     bool          // Lua code is on the stack
	Asleep  bool          // the process waited for something
	InUse   uint64        // bytes of Lua's heap
	Request Request       // zero where it served none
	Stack   []Frame       // innermost first
	Partial error         // why C frames are missing, where some are
	Pause   time.Duration // that the worker was stopped for, at most
}

// maxC bounds the C frames of one sample.
const maxC = 128

// Sample stops the worker for a moment and looks at its stack.
func (w *Worker) Sample() (Sample, error) {
	stat, err := w.Stat()
	if err != nil {
		return Sample{}, err
	}
	var s Sample
	var inner, outer []process.Registers
	var lua luajit.Stack
	began := time.Now()
	err = w.Stopped(func(r process.Registers) error {
		w.registers = r
		var err error
		if lua, err = w.VM.Stack(r); err != nil {
			return err
		}
		if lua.Running {
			request, err := w.VM.Request(lua.Current)
			if err != nil {
				return err
			}
			s.Request, _ = w.Request(request)
		}
		if !lua.Running || lua.Leaf {
			inner, s.Partial = w.unwind(r, false)
		}
		if lua.Running {
			var err error
			outer, err = w.unwind(lua.Caller, true)
			s.Partial = errors.Join(s.Partial, err)
		}
		return nil
	})
	s.Pause = time.Since(began)
	if err != nil {
		return s, err
	}
	s.State, s.Lua, s.InUse = lua.State, lua.Running, lua.InUse
	s.Asleep = stat.State == 'S' || stat.State == 'D'
	for i, r := range inner {
		s.Stack = append(s.Stack, w.cFrame(r.RIP, i > 0))
	}
	for _, f := range lua.Frames {
		s.Stack = append(s.Stack, w.luaFrame(f))
	}
	for _, r := range outer {
		s.Stack = append(s.Stack, w.cFrame(r.RIP, true))
	}
	return s, nil
}

// unwind follows the C frames from the registers on, up to the outermost one or to where Lua begins:
// its frames have been walked already. The error tells of a chain that broke.
func (w *Worker) unwind(r process.Registers, after bool) ([]process.Registers, error) {
	var all []process.Registers
	for len(all) < maxC {
		if w.runsLua(r.RIP) {
			return all, nil
		}
		all = append(all, r)
		next, err := w.Caller(r, after)
		switch {
		case err == process.ErrOutermost:
			return all, nil
		case err != nil:
			return all, err
		}
		r, after = next, true
	}
	return all, fmt.Errorf("more than %d C frames", maxC)
}

// runsLua tells whether machine code is the interpreter's or a trace's, which is of no file.
func (w *Worker) runsLua(address uint64) bool {
	if w.VM.Asm.Contains(address) {
		return true
	}
	_, err := w.ObjectAt(address)
	return err != nil
}

func (w *Worker) cFrame(address uint64, after bool) Frame {
	if after {
		address-- // a return address may be the next function's first
	}
	f := Frame{Kind: luajit.C}
	o, err := w.ObjectAt(address)
	if err != nil {
		f.Function = fmt.Sprintf("%#x", address)
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

func (w *Worker) luaFrame(f luajit.Frame) Frame {
	out := Frame{
		Kind: f.Kind, Function: w.sources.Name(f), File: f.File,
		FirstLine: f.FirstLn, Line: f.Line, Compiled: f.Compiled,
	}
	if f.Kind == luajit.C && out.Function == "" {
		return w.cFrame(f.Address, false)
	}
	return out
}

// open reads a source file as the worker sees it, also in a container of its own.
func (w *Worker) open(file string) ([]byte, error) {
	if filepath.IsAbs(file) {
		return os.ReadFile(w.Path(file))
	}
	return os.ReadFile(filepath.Join(fmt.Sprintf("/proc/%d/cwd", w.PID), file))
}
