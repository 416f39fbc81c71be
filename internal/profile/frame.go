package profile

import (
	"cmp"
	"fmt"
	"path"
)

// Kind of code that a frame belongs to.
type Kind string

// Kinds of frames.
const (
	Lua     Kind = "lua"
	Builtin Kind = "builtin" // LuaJIT's own functions
	C       Kind = "c"
	Kernel  Kind = "kernel"
)

// Kinds of frames that hold memory.
const (
	Tables  Kind = "table"
	Strings Kind = "text"
	Code    Kind = "code" // functions and what belongs to them
	CData   Kind = "cdata"
	Other   Kind = "other"
)

var kinds = []Kind{Lua, Builtin, C, Kernel, Tables, Strings, Code, CData, Other}

// A Frame is one function on a stack. Frames are compared as values.
type Frame struct {
	Function  string `json:"function"`
	File      string `json:"file,omitempty"`       // source file, or library of C code
	FirstLine int    `json:"first_line,omitempty"` // where a Lua function begins; 0: unknown, or a main chunk
	Line      int    `json:"line,omitempty"`       // that ran; 0: unknown
	LastLine  int    `json:"last_line,omitempty"`  // where that was not known, it was one from Line to this; 0: it was Line
	Kind      Kind   `json:"kind"`
	Compiled  bool   `json:"compiled,omitempty"` // in LuaJIT's machine code
}

// Range reports that the line was not known: it is one of several.
func (f Frame) Range() bool { return f.LastLine > f.Line && f.Line > 0 }

// Name is how the frame is written in stacks: as Where has it for Lua, the function alone for C, with FlameGraph's marks behind it:
// _[j] compiled, _[k] kernel.
func (f Frame) Name() string {
	name := f.Function
	if f.Kind == Lua {
		name = f.where()
	}
	switch {
	case f.Kind == Kernel:
		name += "_[k]"
	case f.Compiled:
		name += "_[j]"
	}
	return name
}

// Where names a frame: function@file:line, or function@file:first-last where the line is one of these. It is "" for none.
func (f Frame) Where() string {
	if f.File == "" {
		return ""
	}
	return f.where()
}

func (f Frame) where() string {
	at := cmp.Or(f.Function, "function") + "@" + path.Base(f.File)
	if f.Range() {
		return fmt.Sprintf("%s:%d-%d", at, f.Line, f.LastLine)
	}
	if line := cmp.Or(f.Line, f.FirstLine); line > 0 {
		return fmt.Sprint(at, ":", line)
	}
	return at
}

// In is where a Lua function waits, in words: function file:line in what. There may be no frame.
func (f *Frame) In(what string) string {
	if f == nil {
		return "in " + what
	}
	at := fmt.Sprintf("%s:%d", path.Base(f.File), f.Line)
	if f.Function != "" {
		at = f.Function + " " + at
	}
	if what != "" {
		at += " in " + what
	}
	return at
}

func (f Frame) ofLua() bool { return f.Kind == Lua }
