package worker

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/profile"
)

// probed is who called a function whose return is probed, where only the kernel knows the return address and a
// sample without its help, by ptrace, does not: what lies between it and Lua is missing.
const probed = "(a probe at a function's return)"

// NoFile is the name of machine code that is of no file.
const NoFile = "(machine code of no file)"

// Sources are those of the worker's Lua, which name its functions.
func (w *Worker) Sources() *luajit.Sources { return &w.sources }

// ForgetNames forgets names where there are more than N: they are found again.
func (w *Worker) ForgetNames(most int) {
	if len(w.frames) > most {
		clear(w.frames)
	}
}

// CFrame names a frame of C. after reports that the address is one behind a call.
func (w *Worker) CFrame(address uint64, after bool) profile.Frame {
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
		f.Function = NoFile // its address would be another one in each sample
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

// LuaFrame names a frame of Lua.
func (w *Worker) LuaFrame(f luajit.Frame) profile.Frame {
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
		return w.CFrame(f.Address, false)
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

// Refresh reads anew what is mapped, after code was seen that was not mapped: a library that was loaded
// late, or more of LuaJIT's machine code, which is seen often; and the names of functions that had
// none, as before a program has opened its libraries.
func (w *Worker) Refresh() {
	if !w.unmapped && !w.unnamed {
		return
	}
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
	if w.ReadMaps() == nil { // else it has ended, which the next sample reports
		w.readObjects()
	}
}
