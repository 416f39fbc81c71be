package profile

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/moonlap/moonlap/internal/stat"
	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// WriteHTML writes the difference as the page of a flame graph: frames are coloured where their
// share has grown or fallen, and as wide as after, or as before. The report stands beside it.
func (d *Diff) WriteHTML(to io.Writer, report string) error {
	before, after := d.Before.side(), d.After.side()
	out := newHTML(d.Title, report, d.After.Period.Nanoseconds())
	out.Diff = &pageDiff{Before: before.of, After: after.of, Alpha: 1 - estimate.Level}
	for i, s := range []side{before, after} {
		for _, stack := range s.stacks {
			var counts [][2]int64
			for slice, n := range stack.Slices {
				if n > 0 {
					counts = append(counts, [2]int64{int64(slice), n})
				}
			}
			one := out.stack(d.frames(stack.Frames), 0, stack.Labels)
			if i == 0 {
				one.Before = counts
			} else {
				one.After, one.Count = counts, stack.Count
			}
			out.Stacks = append(out.Stacks, one)
		}
	}
	return out.write(to)
}

func (d *Diff) frames(all []Frame) []Frame {
	out := make([]Frame, len(all))
	for i, f := range all {
		out[i] = d.frame(f)
	}
	return out
}

// tree merges both profiles' stacks; the count of a node is that of after.
func (d *Diff) tree() (root *Node, seen map[*Node]pair, before, after side) {
	before, after = d.Before.side(), d.After.side()
	root = &Node{Name: "all", Kind: string(C)}
	seen = map[*Node]pair{}
	for i, s := range []side{before, after} {
		for _, stack := range s.stacks {
			count := func(n *Node) {
				p, ok := seen[n]
				if !ok {
					p = pair{make([]int64, len(before.of)), make([]int64, len(after.of))}
					seen[n] = p
				}
				if i == 0 {
					addSlices(p.before, stack.Slices)
					return
				}
				addSlices(p.after, stack.Slices)
				n.Count += stack.Count
			}
			at := root
			count(at)
			for _, f := range drawnOf(d.frames(stack.Frames)) {
				at = at.child(f)
				count(at)
			}
		}
	}
	root.sort()
	return root, seen, before, after
}

// WriteSVG writes the difference as a picture, with widths as after.
func (d *Diff) WriteSVG(to io.Writer) error {
	root, seen, before, after := d.tree()
	nodes := slices.Collect(maps.Keys(seen))
	var a, b []stat.Seen
	for _, n := range nodes {
		a = append(a, stat.Seen{Count: seen[n].before, Of: before.of})
		b = append(b, stat.Seen{Count: seen[n].after, Of: after.of})
	}
	changes := map[*Node]stat.ShareChange{}
	for i, c := range stat.CompareShares(a, b) {
		changes[nodes[i]] = c
	}
	picture := svg{
		title:  d.Title,
		legend: []colour{{"", "a larger share than before", more}, {"", "a smaller one", less}, {"", "within the sampling error", same}},
		colour: func(n *Node) string {
			c := changes[n]
			if !c.Distinct {
				return same
			}
			full := more
			if c.Change.Estimate < 0 {
				full = less
			}
			return mix(same, full, min(1, 0.3+7*math.Abs(c.Change.Estimate)))
		},
		describe: func(n *Node) string {
			c := changes[n]
			return fmt.Sprintf("before %.1f %%, after %.1f %%", 100*c.Before, 100*c.After)
		},
	}
	return picture.write(to, root)
}

// Colours of changes; the page has them in flame.css.
const more, less, same = "#e8442e", "#3d7de0", "#d9dce1"

// mix is so much of one colour in another.
func mix(from, to string, part float64) string {
	var a, b [3]int
	fmt.Sscanf(from, "#%02x%02x%02x", &a[0], &a[1], &a[2])
	fmt.Sscanf(to, "#%02x%02x%02x", &b[0], &b[1], &b[2])
	for i := range a {
		a[i] += int(part * float64(b[i]-a[i]))
	}
	return fmt.Sprintf("#%02x%02x%02x", a[0], a[1], a[2])
}
