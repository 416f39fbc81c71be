package profile

import (
	"io"
	"slices"

	"github.com/google/pprof/profile"
)

// WritePprof writes the profile for go tool pprof and everything else that reads its format. Each
// sample has its count and the time that it means; labels become tags.
func (p *Profile) WritePprof(to io.Writer) error {
	out := &goProfile{
		Profile: profile.Profile{
			TimeNanos: p.Start.UnixNano(), DurationNanos: p.Duration.Nanoseconds(), Comments: []string{p.Title},
		},
		functions: map[code]*profile.Function{}, locations: map[Frame]*profile.Location{}, mappings: map[string]*profile.Mapping{},
	}
	out.SampleType = p.PprofTypes()
	values := out.count(p)
	for _, s := range p.Stacks {
		sample := &profile.Sample{Value: values(s), Label: map[string][]string{}}
		for _, f := range slices.Backward(s.Frames) { // innermost first
			sample.Location = append(sample.Location, out.location(f))
		}
		for key, value := range s.Labels {
			sample.Label[key] = []string{value}
		}
		out.Sample = append(out.Sample, sample)
	}
	if err := out.CheckValid(); err != nil {
		return err
	}
	return out.Write(to)
}

// A goProfile is a profile in that format while it is made, with what stands in it once.
type goProfile struct {
	profile.Profile
	functions map[code]*profile.Function
	locations map[Frame]*profile.Location
	mappings  map[string]*profile.Mapping // by file
}

// A code is a function as pprof has it.
type code struct {
	function, file string
	first          int
	line, last     int // of a range
}

// PprofTypes are what the profile counts, as pprof has it, by the names that Go's profiles of CPU time, the heap and blocking have. The
// last is the usual one.
func (p *Profile) PprofTypes() []*profile.ValueType {
	named := func(names ...string) (all []*profile.ValueType) { // pairs of a type and a unit
		for i := 0; i < len(names); i += 2 {
			all = append(all, &profile.ValueType{Type: names[i], Unit: names[i+1]})
		}
		return all
	}
	switch {
	case p.Mode == Allocations:
		return named("alloc_objects", "count", "alloc_space", "bytes")
	case p.Unit == Bytes:
		return named("inuse_space", "bytes")
	case p.Unit == Time && p.Mode == wall:
		return named("wall", "nanoseconds")
	case p.Unit == Time:
		return named("delay", "nanoseconds")
	case p.Mode == wall:
		return named("samples", "count", "wall", "nanoseconds")
	case p.Mode == offCPU:
		return named("samples", "count", "delay", "nanoseconds")
	}
	return named("samples", "count", "cpu", "nanoseconds")
}

// Modes that are not about CPU time.
const (
	wall   = "wall"
	offCPU = "off-cpu"
)

// count says what the profile counts, and returns a stack's values of that.
func (out *goProfile) count(p *Profile) (values func(Stack) []int64) {
	out.PeriodType = out.SampleType[len(out.SampleType)-1]
	out.DefaultSampleType, out.Period = out.PeriodType.Type, 1
	switch {
	case p.Mode == Allocations:
		return func(s Stack) []int64 { return []int64{s.Objects, s.Count} }
	case p.Unit == Bytes, p.Unit == Time:
		return func(s Stack) []int64 { return []int64{s.Count} }
	}
	out.Period = p.Period.Nanoseconds()
	return func(s Stack) []int64 { return []int64{s.Count, s.Count * out.Period} }
}

func (out *goProfile) location(f Frame) *profile.Location {
	if l, ok := out.locations[f]; ok {
		return l
	}
	l := &profile.Location{ID: uint64(len(out.locations) + 1), Mapping: out.mapping(f),
		Line: []profile.Line{{Function: out.function(f), Line: int64(f.Line)}}}
	out.locations[f] = l
	out.Location = append(out.Location, l)
	return l
}

func (out *goProfile) function(f Frame) *profile.Function {
	c := code{f.Function, f.File, f.FirstLine, 0, 0}
	if f.Range() { // a location has one line, so the function's name has the range
		c.line, c.last = f.Line, f.LastLine
	}
	fn, ok := out.functions[c]
	if !ok {
		name := f.Function
		if f.Kind == Lua {
			name = Frame{Function: f.Function, File: f.File, FirstLine: f.FirstLine, Line: c.line, LastLine: c.last, Kind: Lua}.Name()
		}
		fn = &profile.Function{ID: uint64(len(out.functions) + 1), Name: name, SystemName: name, Filename: f.File, StartLine: int64(f.FirstLine)}
		out.functions[c] = fn
		out.Function = append(out.Function, fn)
	}
	return fn
}

// mapping is what a location needs; a tool that finds functions in it must not look for a binary of that name.
func (out *goProfile) mapping(f Frame) *profile.Mapping {
	module := string(f.Kind)
	if f.Kind == C {
		module = f.File
	}
	m, ok := out.mappings[module]
	if !ok {
		m = &profile.Mapping{ID: uint64(len(out.mappings) + 1), File: module, HasFunctions: true, HasFilenames: true, HasLineNumbers: true}
		out.mappings[module] = m
		out.Mapping = append(out.Mapping, m)
	}
	return m
}
