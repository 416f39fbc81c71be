package stat

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
)

// A signature is what makes traces of different processes the same: trace numbers
// differ from process to process, places do not.
type signature struct {
	file  string
	line  int
	lines string
	link  string
	side  bool
	from  record.Source // where the parent of a side trace starts
}

// signatures are those of a process's own traces.
func signatures(l *record.JIT) map[signature]bool {
	starts := map[int]record.Source{}
	for _, t := range l.Traces {
		starts[t.ID] = t.Source
	}
	set := map[signature]bool{}
	for _, t := range l.Traces {
		if t.Own {
			s := signature{file: t.File, line: t.Line, lines: t.Lines, link: t.Link, side: t.Parent != 0}
			if s.side {
				s.from = starts[t.Parent]
			}
			set[s] = true
		}
	}
	return set
}

func (s signature) String() string {
	kind := "trace"
	if s.side {
		kind = "side trace"
	}
	text := fmt.Sprintf("%s starts at %s:%d", kind, s.file, s.line)
	if s.lines != "" {
		text += " through lines " + s.lines
	}
	switch s.link {
	case "", "loop":
	default:
		text += ", link " + s.link
	}
	if s.side && s.from.File != "" && s.from != (record.Source{File: s.file, Line: s.line}) {
		text += fmt.Sprintf(", from the trace at %s:%d", s.from.File, s.from.Line)
	}
	return text
}

// tellingShare is how much more often a trace must occur in a mode than outside it to
// be named as its mark.
const tellingShare = 0.6

// telling says what the processes of one mode compiled that the others did not, or what
// they lack; "" when no trace tells them apart. in and out are the signatures of each
// process in the mode and of each outside it.
func telling(in, out []map[signature]bool) string {
	if len(in) == 0 || len(out) == 0 {
		return ""
	}
	all := map[signature]bool{}
	for _, set := range append(slices.Clone(in), out...) {
		maps.Copy(all, set)
	}
	share := func(sets []map[signature]bool, s signature) float64 {
		n := 0
		for _, set := range sets {
			if set[s] {
				n++
			}
		}
		return float64(n) / float64(len(sets))
	}
	type telltale struct {
		signature
		more float64 // share inside less share outside
	}
	var marks []telltale
	for s := range all {
		if more := share(in, s) - share(out, s); max(more, -more) >= tellingShare {
			marks = append(marks, telltale{s, more})
		}
	}
	if len(marks) == 0 {
		return ""
	}
	// What is there tells more than what is not, a root trace more than a side trace.
	best := slices.MinFunc(marks, func(a, b telltale) int {
		return cmp.Or(before(a.more > 0, b.more > 0), before(!a.side, !b.side), cmp.Compare(abs(b.more), abs(a.more)),
			cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.lines, b.lines), cmp.Compare(a.link, b.link))
	})
	if best.more < 0 {
		return "no " + best.String()
	}
	return best.String()
}

// before orders what is true before what is not.
func before(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func abs(x float64) float64 { return max(x, -x) }

// nameTraces fills in the trace that marks each mode.
func nameTraces(modes []record.Mode, units []unit) {
	for m := range modes {
		var in, out []map[signature]bool
		for _, u := range units {
			for _, v := range u.vms {
				switch {
				case v.said.JIT == nil:
				case u.mode == m:
					in = append(in, signatures(v.said.JIT))
				default:
					out = append(out, signatures(v.said.JIT))
				}
			}
		}
		modes[m].Trace = telling(in, out)
	}
}
