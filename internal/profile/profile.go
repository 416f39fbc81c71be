// Package profile holds stacks that were sampled and writes them in the formats that people look at
// them in: flame graph, pprof, folded, speedscope. It knows nothing of where they come from.
package profile

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/moonlap/moonlap/internal/evidence"
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

// Allocations is what a profile of Bytes is about whose stacks have allocated them; others have what is held.
const Allocations = "allocations"

// A Unit is what a profile counts.
type Unit string

// Units.
const (
	Samples Unit = "samples" // also ""
	Bytes   Unit = "bytes"   // of memory; a frame is what holds it
	Time    Unit = "ns"      // measured, as that of sleeping is, or a sample's share of it
)

// amount puts a count into words.
func (u Unit) amount(n int64) string {
	switch {
	case u == Time && n >= 1e9:
		return fmt.Sprintf("%.2f s", float64(n)/1e9)
	case u == Time && n >= 1e6:
		return fmt.Sprintf("%.1f ms", float64(n)/1e6)
	case u == Time:
		return fmt.Sprintf("%.1f µs", float64(n)/1e3)
	case u != Bytes:
		return fmt.Sprintf("%d samples", n)
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.2f MB", float64(n)/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

// A Frame is one function on a stack. Frames are compared as values.
type Frame struct {
	Function string
	File     string // source file, or library of C code
	First    int    // line where a Lua function begins; 0: unknown, or a main chunk
	Line     int    // line that ran; 0: unknown
	Kind     Kind
	Compiled bool // in LuaJIT's machine code
}

// Name is how the frame is written in stacks: function@file.lua:line for Lua, the function alone for
// C, with FlameGraph's marks behind it: _[j] compiled, _[k] kernel.
func (f Frame) Name() string {
	name := f.Function
	if f.Kind == Lua {
		if name == "" {
			name = "function"
		}
		name += "@" + path.Base(f.File)
		if line := cmp.Or(f.Line, f.First); line > 0 {
			name += fmt.Sprint(":", line)
		}
	}
	switch {
	case f.Kind == Kernel:
		name += "_[k]"
	case f.Compiled:
		name += "_[j]"
	}
	return name
}

// A Stack is one stack and how often it was seen.
type Stack struct {
	Frames []Frame           // outermost first
	Labels map[string]string // what else was the same: the request's URI, Lua's state
	Count  int64
	Slices []int64 // Count by slice of the profile; nil: not known

	Objects int64 // that the bytes were allocated for
}

// Slices is how many slices a profile is cut into: runs of samples that followed one another at one
// worker. How a share varies from slice to slice tells how exact it is.
const Slices = 20

// A Profile is what was sampled.
type Profile struct {
	Title    string
	Unit     Unit
	Moments  string // which ones it is about: on-cpu, off-cpu, wall, allocations; "" where that is not said
	By       string // how they were looked at: ebpf, ptrace; "" where that is not said
	Failed   int    // looks that came to nothing, and are in no stack
	Lost     int    // looks of the kernel that nobody took in time, neither
	Start    time.Time
	Duration time.Duration
	Period   time.Duration // mean time between two samples; not of bytes or time
	Found    any           // what else was found in the same interval, for JSON; nil: nothing
	Evidence evidence.Set  // what was observed besides
	Stacks   []Stack       // each different stack once, the most frequent first
}

// Add counts a stack, given outermost frame first, that was seen so many times.
func (p *Profile) Add(frames []Frame, labels map[string]string, count int64) {
	p.Stacks = append(p.Stacks, Stack{Frames: frames, Labels: labels, Count: count})
}

// AddSliced counts a stack that was seen so many times in each of the Slices.
func (p *Profile) AddSliced(frames []Frame, labels map[string]string, slices []int64) {
	p.Stacks = append(p.Stacks, Stack{Frames: frames, Labels: labels, Count: sum(slices), Slices: slices})
}

func sum(counts []int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// Merge counts equal stacks together and sorts them. It is to be called after the last Add.
func (p *Profile) Merge() {
	index := map[string]int{}
	var merged []Stack
	for _, s := range p.Stacks {
		key := fmt.Sprintf("%#v %#v", s.Frames, s.Labels) // maps are printed in the order of their keys
		i, ok := index[key]
		if !ok {
			i = len(merged)
			index[key] = i
			merged = append(merged, Stack{Frames: s.Frames, Labels: s.Labels, Slices: make([]int64, len(s.Slices))})
		}
		merged[i].Count += s.Count
		merged[i].Objects += s.Objects
		merged[i].Slices = addSlices(merged[i].Slices, s.Slices)
	}
	slices.SortStableFunc(merged, func(a, b Stack) int { return cmp.Compare(b.Count, a.Count) })
	p.Stacks = merged
}

// addSlices adds counts slice by slice; what is not known of one is not known of the sum.
func addSlices(a, b []int64) []int64 {
	if len(a) == 0 || len(a) != len(b) {
		return nil
	}
	for i, n := range b {
		a[i] += n
	}
	return a
}

// Total is the number of samples, or of bytes.
func (p *Profile) Total() int64 {
	var n int64
	for _, s := range p.Stacks {
		n += s.Count
	}
	return n
}

// folded is a frame's name in folded stacks: without what has a meaning there, or to a terminal.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ';':
			return ':'
		case r == '\n', r == '\r':
			return ' '
		case unicode.IsControl(r):
			return '?'
		}
		return r
	}, name)
}
