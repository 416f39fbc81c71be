package heap

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/moonlap/moonlap/internal/ui"
)

// DrawDiff draws what has changed between two snapshots. Its only error is that of w.
func DrawDiff(w io.Writer, before, after *Snapshot, opt ui.Options) error {
	p := &page{ui.NewPage(opt)}
	p.Line(p.Strong.Render("moonlap heap") + p.Faint.Render(p.Dot+"what changed in "+after.Time.Sub(before.Time).Round(time.Second).String()))
	change := Compare(before.Holders(), after.Holders())
	p.Fact("heap", p.Join(
		fmt.Sprintf("%s %s %s", p.Size(totalOf(before)), p.Arrow, p.Size(totalOf(after))),
		p.signed(int64(totalOf(after)-totalOf(before)))))
	p.Fact("before", who(before))
	p.Fact("after", who(after))
	var rows [][]string
	for _, t := range compareTypes(before, after) {
		if t.Count != 0 || t.Bytes != 0 {
			rows = append(rows, []string{t.Name, signedCount(t.Count), p.signed(t.Bytes), p.signed(t.GarbageBytes)})
		}
	}
	if len(rows) > 0 {
		p.Blank()
		p.Table([]string{"type", "objects", "bytes", "of that garbage"}, rows)
	}
	p.grown("what grew", change, 1)
	p.grown("what shrank", change, -1)
	return p.Write(w)
}

func totalOf(s *Snapshot) (n float64) {
	for _, h := range s.Heaps {
		n += float64(h.Total)
	}
	return n
}

func who(s *Snapshot) string {
	var pids []string
	for _, h := range s.Heaps {
		pids = append(pids, fmt.Sprint(h.PID))
	}
	pids = slices.Compact(pids) // one with two machines has two heaps
	word := "worker "
	if len(pids) > 1 {
		word = "workers "
	}
	return word + strings.Join(pids, ", ") + ", " + s.Time.Format(time.DateTime)
}

func (p *page) signed(bytes int64) string {
	switch {
	case bytes > 0:
		return "+" + p.Size(float64(bytes))
	case bytes < 0:
		return "-" + p.Size(float64(-bytes))
	}
	return "0 B"
}

func signedCount(n int64) string {
	if n > 0 {
		return "+" + ui.Count(n)
	}
	return ui.Count(n)
}

// grown draws the tree of what changed into one direction, with the places that carry nearly all of what
// stands above them on one line.
func (p *page) grown(title string, root *Change, sign int64) {
	total := int64(0)
	for _, c := range root.Inner {
		total += max(0, sign*c.HeldBytes)
	}
	if total == 0 {
		return
	}
	p.Section(title)
	p.Line(p.Faint.Render(fmt.Sprintf("  %9s %10s %9s", "bytes", "objects", "now")))
	drawn := 0
	var draw func(c *Change, depth int)
	draw = func(c *Change, depth int) {
		shown := 0
		inner := c.Inner
		for i := range inner {
			one := inner[i]
			if sign < 0 { // the largest growth stands first
				one = inner[len(inner)-1-i]
			}
			if float64(sign*one.HeldBytes) < leastShare*float64(total) || shown == mostBeside || drawn == mostHolders {
				continue
			}
			names := []string{one.Name}
			for next := carrier(one, sign); next != nil; next = carrier(one, sign) {
				one = next
				names = append(names, one.Name)
			}
			shown++
			drawn++
			text := fmt.Sprintf("  %9s %10s %9s  %s", p.signed(one.HeldBytes), signedCount(one.HeldCount), p.Size(float64(one.After)), strings.Repeat("  ", depth))
			p.path(text, p.chain(names))
			draw(one, depth+1)
		}
	}
	draw(root, 0)
}

// carrier is the one place below another that has nearly all of its change, or nil.
func carrier(c *Change, sign int64) *Change {
	for _, inner := range c.Inner {
		if n := sign * inner.HeldBytes; n > 19*sign*c.HeldBytes/20 && n > 0 {
			return inner
		}
	}
	return nil
}
