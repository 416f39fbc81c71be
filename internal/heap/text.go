package heap

import (
	"fmt"
	"io"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/ui"
)

const (
	mostHolders = 40   // lines of the tree of holders
	mostBeside  = 8    // of those below one holder
	leastShare  = 0.01 // of the heap that a line is worth
	mostPlaces  = 8    // large tables, places of C data
)

type page struct{ *ui.Page }

// Draw draws what is in Lua heaps and who holds it. Its only error is that of w.
func Draw(w io.Writer, s *Snapshot, opt ui.Options) error {
	p := &page{ui.NewPage(opt)}
	for i, h := range s.Heaps {
		if i > 0 {
			p.Blank()
		}
		p.heap(h, s.Time)
	}
	return p.Write(w)
}

func (p *page) heap(h Heap, at time.Time) {
	garbage, bytes := h.Garbage()
	who := "worker"
	if h.Core != "" {
		who = "process" // of any program
	}
	vm := ui.When(h.Machine != "", "Lua of "+h.Machine+p.Dot)
	p.Line(p.Strong.Render("moonlap heap") + p.Faint.Render(p.Dot+fmt.Sprintf("%s %d", who, h.PID)+p.Dot+vm+at.Format(time.DateTime)))
	p.Fact("heap", p.Join(p.Size(float64(h.Total)), ui.Count(h.Objects)+" objects",
		fmt.Sprintf("of them %s garbage (%s)", ui.Count(garbage), p.Size(float64(bytes)))))
	p.Fact("found", p.accounted(h))
	switch {
	case h.Core != "":
		p.Fact("core", ui.Clean(h.Core))
	case h.Stopped:
		times := ui.When(h.Stops > 1, fmt.Sprintf(", %d times, as its lists were just being changed", h.Stops))
		p.Fact("pause", fmt.Sprintf("%s, in which %s were copied%s", p.Time(float64(h.PauseNS)), p.Size(float64(h.Copied)), times))
	default:
		p.Fact("pause", "none: what changed while it was copied may be wrong")
	}
	p.census(h)
	p.holders(h.Holders)
	p.tables(h)
	p.cdata(h)
}

// accounted compares the bytes that were found with those that the VM counts.
func (p *page) accounted(h Heap) string {
	found := h.Accounted()
	text := "every byte that LuaJIT counts"
	if found != h.Total && h.Total > 0 {
		off := float64(h.Total-found) / float64(h.Total)
		text = fmt.Sprintf("%s of what LuaJIT counts; %s is not accounted for", ui.Percent(1-off), p.Size(float64(h.Total-found)))
		if off < 0 {
			text = fmt.Sprintf("%s more than LuaJIT counts", p.Size(float64(found-h.Total)))
		}
	}
	if h.Broken+h.Cut > 0 {
		text += fmt.Sprintf("; %s objects or references make no sense, %s ended too early: it changed while it was read, or is corrupt",
			ui.Count(h.Broken), ui.Plural(int(h.Cut), "list", "lists"))
	}
	return text
}

func (p *page) census(h Heap) {
	var rows [][]string
	row := func(name string, objects string, bytes int64, garbage string) {
		rows = append(rows, []string{name, objects, p.Size(float64(bytes)), ui.Percent(float64(bytes) / float64(max(1, h.Total))), garbage})
	}
	for _, t := range h.Types {
		row(t.Name, ui.Count(t.Count), t.Bytes, ui.When(t.GarbageBytes > 0, p.Size(float64(t.GarbageBytes))))
	}
	for _, o := range h.Others {
		if o.Bytes > 0 {
			row(o.Name, "", o.Bytes, "")
		}
	}
	p.Blank()
	p.Table([]string{"type", "objects", "bytes", "share", "garbage"}, rows)
	if h.Code > 0 {
		p.Line(p.Faint.Render(fmt.Sprintf("  Machine code of traces, %s, is not part of the heap.", p.Size(float64(h.Code)))))
	}
}

// holders draws the tree of who holds what. What holds nearly nothing but one thing stands on one line
// with that.
func (p *page) holders(root *Holder) {
	p.Section("who holds it")
	p.Line(p.Faint.Render(fmt.Sprintf("  %9s %6s %10s", "holds", "share", "objects")))
	drawn := 0
	var draw func(h *Holder, depth int)
	draw = func(h *Holder, depth int) {
		shown, left := 0, int64(0)
		for _, inner := range h.Inner {
			share := float64(inner.HeldBytes) / float64(max(1, root.HeldBytes))
			if share < leastShare || shown == mostBeside || drawn == mostHolders {
				left += inner.HeldBytes
				continue
			}
			names := []string{inner.Name}
			for carries(inner, root.HeldBytes) {
				inner = inner.Inner[0]
				names = append(names, inner.Name)
			}
			shown++
			drawn++
			p.holderLine(inner, share, depth, p.chain(names))
			draw(inner, depth+1)
		}
		if depth == 0 && left > 0 {
			p.Line(p.Faint.Render(fmt.Sprintf("  %9s %6s %10s  smaller ones", p.Size(float64(left)),
				ui.Percent(float64(left)/float64(max(1, root.HeldBytes))), "")))
		}
	}
	draw(root, 0)
}

// carries reports that a holder holds nearly nothing but one thing: nothing else below it is worth a line.
func carries(h *Holder, total int64) bool {
	return len(h.Inner) > 0 && h.Inner[0].HeldBytes > 19*h.HeldBytes/20 &&
		(len(h.Inner) == 1 || float64(h.Inner[1].HeldBytes) < leastShare*float64(total))
}

// chain joins the names of holders that stand on each other: package.loaded.app table → .cache table.
func (p *page) chain(names []string) string {
	text := names[0]
	for _, n := range names[1:] {
		if !strings.HasPrefix(n, ".") && !strings.HasPrefix(n, "[") || strings.Contains(text, " ") {
			text += " " + p.Arrow + " "
		}
		text += n
	}
	return text
}

func (p *page) holderLine(h *Holder, share float64, depth int, name string) {
	text := fmt.Sprintf("  %9s %6s %10s  %s", p.Size(float64(h.HeldBytes)), ui.Percent(share), ui.Count(h.HeldCount), strings.Repeat("  ", depth))
	p.path(text, name)
}

// path draws a path behind its figures, on several lines where it is long: all of it is what was asked for.
func (p *page) path(figures, path string) {
	p.Para(figures, ui.Clean(path), lipgloss.NewStyle())
}

func (p *page) tables(h Heap) {
	if len(h.Tables) == 0 {
		return
	}
	p.Section("largest tables")
	p.Line(p.Faint.Render(fmt.Sprintf("  %9s %9s %10s", "own", "holds", "entries")))
	for _, t := range h.Tables[:min(mostPlaces, len(h.Tables))] {
		text := fmt.Sprintf("  %9s %9s %10s  ", p.Size(float64(t.Bytes)), p.Size(float64(t.Held)), ui.Count(t.Entries))
		p.path(text, t.Path)
	}
}

func (p *page) cdata(h Heap) {
	if len(h.CData) == 0 {
		return
	}
	p.Section("C data")
	p.Line(p.Faint.Render(fmt.Sprintf("  %9s %10s", "bytes", "objects")))
	for _, c := range h.CData[:min(mostPlaces, len(h.CData))] {
		text := fmt.Sprintf("  %9s %10s  ", p.Size(float64(c.Bytes)), ui.Count(c.Count))
		p.path(text, c.What+", "+c.Path)
	}
}
