package profile

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A Diff is two profiles side by side: of the same program before and after a change, say. Their
// samples are compared as shares, so that one may be longer than the other.
type Diff struct {
	Title         string
	Before, After *Profile
	// Lines keeps functions' lines distinct. Without it two frames are the same where function and file
	// are: lines move when a file is edited.
	Lines bool
}

// frame is the frame as it is compared.
func (d *Diff) frame(f Frame) Frame {
	f.Compiled = false // the same code, whatever ran it
	if d.Lines || f.Kind != Lua {
		return f
	}
	f.Line, f.LastLine = 0, 0
	if f.Function != "" {
		f.FirstLine = 0
	}
	return f
}

// pair is what was seen before and after, by slice.
type pair struct{ before, after []int64 }

// side is one of the profiles, with its stacks' counts by slice; all in one slice where a stack's
// slices are not known.
type side struct {
	stacks []Stack
	of     []int64 // samples by slice
}

func (p *Profile) side() side {
	s := side{stacks: p.Stacks, of: make([]int64, Slices)}
	for _, stack := range p.Stacks {
		if s.of = addSlices(s.of, stack.Slices); s.of == nil {
			break
		}
	}
	if s.of != nil && len(p.Stacks) > 0 {
		return s
	}
	s.of, s.stacks = []int64{p.Total()}, slices.Clone(p.Stacks)
	for i, stack := range s.stacks {
		s.stacks[i].Slices = []int64{stack.Count}
	}
	return s
}

// count adds up what was seen of each key that keys makes of a stack, once a stack.
func (d *Diff) count(keys func([]Frame) []string) (seen map[string]pair, before, after side) {
	before, after = d.Before.side(), d.After.side()
	seen = map[string]pair{}
	for i, s := range []side{before, after} {
		for _, stack := range s.stacks {
			all := keys(stack.Frames)
			slices.Sort(all)
			for _, key := range slices.Compact(all) {
				p, ok := seen[key]
				if !ok {
					p = pair{make([]int64, len(before.of)), make([]int64, len(after.of))}
					seen[key] = p
				}
				addSlices([][]int64{p.before, p.after}[i], stack.Slices)
			}
		}
	}
	return seen, before, after
}

// folded is a stack as WriteFolded has it.
func (d *Diff) folded(frames []Frame) string {
	names := make([]string, len(frames))
	for i, f := range frames {
		names[i] = folded(d.frame(f).Name())
	}
	return strings.Join(names, ";")
}

// WriteFolded writes a line for each stack with two counts, before and after, as FlameGraph's
// difffolded.pl -n does: those of before are scaled to the number of samples after.
func (d *Diff) WriteFolded(to io.Writer) error {
	seen, _, _ := d.count(func(frames []Frame) []string { return []string{d.folded(frames)} })
	scale := float64(d.After.Total()) / float64(max(1, d.Before.Total()))
	w := bufio.NewWriter(to)
	for _, stack := range slices.Sorted(maps.Keys(seen)) {
		p := seen[stack]
		fmt.Fprintf(w, "%s %.0f %d\n", stack, float64(sum(p.before))*scale, sum(p.after))
	}
	return w.Flush()
}

// DiffFormats are the names of the formats that a Diff can be written in.
var DiffFormats = []string{"html", "svg", "folded", "json"}

var diffWriters = map[string]func(*Diff, io.Writer) error{
	"svg": (*Diff).WriteSVG, "folded": (*Diff).WriteFolded, "json": (*Diff).WriteJSON,
}

// Write writes the diff in one of the DiffFormats; a page has the report beside its graph.
func (d *Diff) Write(to io.Writer, format, report string) error {
	if format == "html" {
		return d.WriteHTML(to, report)
	}
	if write, ok := diffWriters[format]; ok {
		return write(d, to)
	}
	return fmt.Errorf("no format %q for a difference: %s", format, strings.Join(DiffFormats, ", "))
}

// innermostLua is the innermost Lua function of a stack.
func innermostLua(frames []Frame) (Frame, bool) {
	for _, f := range slices.Backward(frames) {
		if f.Kind == Lua {
			return f, true
		}
	}
	return Frame{}, false
}

// ordered sorts rows: the distinct ones first, each kind by the size of its change.
func ordered(rows []Row) {
	slices.SortStableFunc(rows, func(a, b Row) int {
		if a.Change.Distinct != b.Change.Distinct {
			if a.Change.Distinct {
				return -1
			}
			return 1
		}
		return cmp.Compare(abs(b.Change.Change.Estimate), abs(a.Change.Change.Estimate))
	})
}

func abs(x float64) float64 { return max(x, -x) }
