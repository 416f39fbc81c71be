// Package profile holds stacks that were sampled and writes them in the formats that people look at
// them in: flame graph, pprof, folded, speedscope. It knows nothing of where they come from.
package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/moonlap/moonlap/internal/evidence"
)

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

// Lines are the shares of what was counted whose innermost Lua line was not known: it is one of a range, or none is known.
func (p *Profile) Lines() (ranges, none float64) {
	var all, inRanges, without int64
	for _, s := range p.Stacks {
		all += s.Count
		switch f, ok := innermostLua(s.Frames); {
		case !ok:
		case f.Range():
			inRanges += s.Count
		case f.Line == 0 && f.Compiled:
			without += s.Count
		}
	}
	of := float64(max(1, all))
	return float64(inRanges) / of, float64(without) / of
}

// A Stack is one stack and how often it was seen.
type Stack struct {
	Frames []Frame           `json:"frames"`           // outermost first
	Labels map[string]string `json:"labels,omitempty"` // what else was the same: the request's URI, Lua's state
	Count  int64             `json:"count"`
	Slices []int64           `json:"slices,omitempty"` // Count by slice of the profile; nil: not known

	Objects int64 `json:"objects,omitempty"` // that the bytes were allocated for
}

// Slices is how many slices a profile is cut into: runs of samples that followed one another at one
// worker. How a share varies from slice to slice tells how exact it is.
const Slices = 20

// A Profile is what was sampled.
type Profile struct {
	Head     `json:"head"`
	Stacks   []Stack      `json:"stacks"` // each different stack once, the most frequent first
	Evidence evidence.Set `json:"evidence,omitempty"`
}

// A Head is what a profile is of, and how it came about.
type Head struct {
	Title    string        `json:"title"`
	PIDs     []int         `json:"pids,omitempty"`    // of the workers; none: that is not said
	Command  string        `json:"command,omitempty"` // that was run for it
	LuaJIT   string        `json:"luajit,omitempty"`  // file that Lua runs from, where it is of one process
	Core     *Core         `json:"core,omitempty"`    // it is of a core file
	Mode     string        `json:"moments,omitempty"` // which ones it is about: on-cpu, off-cpu, wall, allocations; "" where that is not said
	By       string        `json:"by,omitempty"`      // how they were sampled: ebpf, ptrace; "" where that is not said
	Unit     Unit          `json:"unit,omitempty"`    // of counts; samples where it is not said
	Note     string        `json:"note,omitempty"`    // what else there is to know of the stacks
	Start    time.Time     `json:"start"`
	Duration time.Duration `json:"duration_ns"`
	Period   time.Duration `json:"period_ns"`    // mean time between two samples; not of bytes or time
	Hz       float64       `json:"hz,omitempty"` // samples a second of each worker that were asked for

	Taken   int           `json:"samples_taken,omitempty"` // of all moments, those that failed included; 0: not known
	Samples int           `json:"samples,omitempty"`       // of these: of the moments that it is about
	Partial int           `json:"partial,omitempty"`       // of these: without all C frames
	Failed  int           `json:"failed"`                  // came to nothing, and are in no stack
	Lost    int           `json:"lost"`                    // more of the kernel's that nobody took in time, neither
	Elapsed time.Duration `json:"elapsed_ns,omitempty"`    // how long all workers together were sampled
	Used    time.Duration `json:"cpu_ns,omitempty"`        // CPU time of all workers
	Paused  time.Duration `json:"paused_ns,omitempty"`     // how long of Elapsed they were stopped, at most
	Hold    time.Duration `json:"hold_ns,omitempty"`       // that a sample might stop a worker for
	Cut     int           `json:"cut,omitempty"`           // samples that ended then, before their stack did
	LeftOut int           `json:"left_out,omitempty"`      // functions of Lua that are not in those stacks, together
	Heap    uint64        `json:"lua_heap_bytes,omitempty"`

	Unknown []string `json:"unknown,omitempty"` // what could not be read, with the reason
	Error   string   `json:"error,omitempty"`   // why it broke off
}

// A Core is what a core file tells of a process's end.
type Core struct {
	File   string `json:"file"`
	Signal string `json:"signal,omitempty"` // SIGSEGV; "": it did not end
}

// Typical is the most frequent of the stacks with Lua, or of all where there is none, the innermost frame first.
func (p *Profile) Typical() []Frame {
	all := slices.DeleteFunc(slices.Clone(p.Stacks), func(s Stack) bool { return !slices.ContainsFunc(s.Frames, Frame.ofLua) })
	if len(all) == 0 {
		all = p.Stacks
	}
	counts := map[string]int64{} // whatever their labels are
	var best []Frame
	most := int64(0)
	for _, s := range all {
		if key := fmt.Sprint(s.Frames); len(s.Frames) > 0 {
			if counts[key] += s.Count; counts[key] > most {
				most, best = counts[key], s.Frames
			}
		}
	}
	best = slices.Clone(best)
	slices.Reverse(best)
	return best
}

// Add counts a stack, given outermost frame first, that was seen count times.
func (p *Profile) Add(frames []Frame, labels map[string]string, count int64) {
	p.Stacks = append(p.Stacks, Stack{Frames: frames, Labels: labels, Count: count})
}

// AddSliced counts a stack with its count in each of the Slices.
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
	merged := []Stack{}
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
