package profile

import (
	"io"
	"maps"
	"slices"

	"github.com/google/pprof/profile"
)

// WritePprof writes the profile for go tool pprof and everything else that reads its format. Each
// sample has its count and the time that it means; labels become tags.
func (p *Profile) WritePprof(to io.Writer) error {
	out := &profile.Profile{
		SampleType: []*profile.ValueType{
			{Type: "samples", Unit: "count"},
			{Type: "time", Unit: "nanoseconds"},
		},
		DefaultSampleType: "time",
		TimeNanos:         p.Start.UnixNano(),
		DurationNanos:     p.Duration.Nanoseconds(),
		PeriodType:        &profile.ValueType{Type: "time", Unit: "nanoseconds"},
		Period:            p.Period.Nanoseconds(),
		Comments:          []string{p.Title},
	}
	if p.Unit == Bytes { // by the names that Go's heap profiles have
		space := &profile.ValueType{Type: "inuse_space", Unit: "bytes"}
		out.SampleType, out.DefaultSampleType = []*profile.ValueType{space}, space.Type
		out.PeriodType, out.Period = space, 1
	}
	if p.Mode == Allocations {
		objects := &profile.ValueType{Type: "alloc_objects", Unit: "count"}
		space := &profile.ValueType{Type: "alloc_space", Unit: "bytes"}
		out.SampleType, out.DefaultSampleType = []*profile.ValueType{objects, space}, space.Type
		out.PeriodType = space
	}
	if p.Unit == Time { // by the name that Go's profiles of blocking have
		delay := &profile.ValueType{Type: "delay", Unit: "nanoseconds"}
		out.SampleType, out.DefaultSampleType = []*profile.ValueType{delay}, delay.Type
		out.PeriodType, out.Period = delay, 1
	}
	type code struct {
		function, file string
		first          int
		line, last     int // of a range
	}
	functions := map[code]*profile.Function{}
	locations := map[Frame]*profile.Location{}
	mappings := map[string]*profile.Mapping{}
	location := func(f Frame) *profile.Location {
		if l, ok := locations[f]; ok {
			return l
		}
		c := code{f.Function, f.File, f.FirstLine, 0, 0}
		if f.Range() { // a location has one line, so the function's name has the range
			c.line, c.last = f.Line, f.LastLine
		}
		fn, ok := functions[c]
		if !ok {
			name := f.Function
			if f.Kind == Lua {
				name = Frame{Function: f.Function, File: f.File, FirstLine: f.FirstLine, Line: c.line, LastLine: c.last, Kind: Lua}.Name()
			}
			fn = &profile.Function{
				ID: uint64(len(functions) + 1), Name: name, SystemName: name,
				Filename: f.File, StartLine: int64(f.FirstLine),
			}
			functions[c] = fn
			out.Function = append(out.Function, fn)
		}
		// A location needs a mapping, and a tool that finds functions in it must not look for a
		// binary of that name.
		module := string(f.Kind)
		if f.Kind == C {
			module = f.File
		}
		m, ok := mappings[module]
		if !ok {
			m = &profile.Mapping{ID: uint64(len(mappings) + 1), File: module,
				HasFunctions: true, HasFilenames: true, HasLineNumbers: true}
			mappings[module] = m
			out.Mapping = append(out.Mapping, m)
		}
		l := &profile.Location{ID: uint64(len(locations) + 1), Mapping: m,
			Line: []profile.Line{{Function: fn, Line: int64(f.Line)}}}
		locations[f] = l
		out.Location = append(out.Location, l)
		return l
	}
	for _, s := range p.Stacks {
		sample := &profile.Sample{Value: []int64{s.Count, s.Count * p.Period.Nanoseconds()}}
		switch {
		case p.Mode == Allocations:
			sample.Value = []int64{s.Objects, s.Count}
		case p.Unit == Bytes || p.Unit == Time:
			sample.Value = sample.Value[:1]
		}
		for _, f := range slices.Backward(s.Frames) { // innermost first
			sample.Location = append(sample.Location, location(f))
		}
		for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
			if sample.Label == nil {
				sample.Label = map[string][]string{}
			}
			sample.Label[key] = []string{s.Labels[key]}
		}
		out.Sample = append(out.Sample, sample)
	}
	if err := out.CheckValid(); err != nil {
		return err
	}
	return out.Write(to)
}
