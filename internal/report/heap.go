package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/heap"
)

const (
	mostHolders = 40   // lines of the tree of holders
	mostBeside  = 8    // of those below one holder
	leastShare  = 0.01 // of the heap that a line is worth
	mostPlaces  = 8    // large tables, places of C data
)

// Heap draws what is in Lua heaps and who holds it. Its only error is that of w.
func Heap(w io.Writer, s *heap.Snapshot, opt Options) error {
	p := newPage(opt)
	for i, h := range s.Heaps {
		if i > 0 {
			p.blank()
		}
		p.heap(h, s.Time)
	}
	return p.writeTo(w)
}

func (p *page) heap(h heap.Heap, at time.Time) {
	garbage, bytes := h.Garbage()
	who := "worker"
	if h.Core != "" {
		who = "process" // of any program
	}
	machine := ""
	if h.Machine != "" {
		machine = "Lua of " + h.Machine + p.dot
	}
	p.line(p.strong.Render("moonlap heap") + p.faint.Render(p.dot+fmt.Sprintf("%s %d", who, h.PID)+p.dot+machine+at.Format(time.DateTime)))
	p.fact("heap", p.join(p.size(float64(h.Total)), count(h.Objects)+" objects",
		fmt.Sprintf("of them %s garbage (%s)", count(garbage), p.size(float64(bytes)))))
	p.fact("found", p.accounted(h))
	switch {
	case h.Core != "":
		p.fact("core", clean(h.Core))
	case h.Stopped:
		times := ""
		if h.Stops > 1 {
			times = fmt.Sprintf(", %d times, as its lists were just being changed", h.Stops)
		}
		p.fact("pause", fmt.Sprintf("%s, in which %s were copied%s", p.time(float64(h.PauseNS)), p.size(float64(h.Copied)), times))
	default:
		p.fact("pause", "none: what changed while it was copied may be wrong")
	}
	p.census(h)
	p.holders(h.Holders)
	p.tables(h)
	p.cdata(h)
}

// accounted tells how far what was found and what the machine counts agree.
func (p *page) accounted(h heap.Heap) string {
	found := h.Accounted()
	text := "every byte that LuaJIT counts"
	if found != h.Total && h.Total > 0 {
		off := float64(h.Total-found) / float64(h.Total)
		text = fmt.Sprintf("%s of what LuaJIT counts; %s is not accounted for", percent(1-off), p.size(float64(h.Total-found)))
		if off < 0 {
			text = fmt.Sprintf("%s more than LuaJIT counts", p.size(float64(found-h.Total)))
		}
	}
	if h.Broken+h.Cut > 0 {
		text += fmt.Sprintf("; %s objects or references make no sense, %s ended too early: it changed while it was read, or is corrupt",
			count(h.Broken), plural(int(h.Cut), "list", "lists"))
	}
	return text
}

func (p *page) census(h heap.Heap) {
	var rows [][]string
	row := func(name string, objects string, bytes int64, garbage string) {
		rows = append(rows, []string{name, objects, p.size(float64(bytes)), percent(float64(bytes) / float64(max(1, h.Total))), garbage})
	}
	for _, t := range h.Types {
		garbage := ""
		if t.GarbageBytes > 0 {
			garbage = p.size(float64(t.GarbageBytes))
		}
		row(t.Name, count(t.Count), t.Bytes, garbage)
	}
	for _, o := range h.Others {
		if o.Bytes > 0 {
			row(o.Name, "", o.Bytes, "")
		}
	}
	p.blank()
	p.table([]string{"type", "objects", "bytes", "share", "garbage"}, rows)
	if h.Code > 0 {
		p.line(p.faint.Render(fmt.Sprintf("  Machine code of traces, %s, is not part of the heap.", p.size(float64(h.Code)))))
	}
}

// holders draws the tree of who holds what. What holds nearly nothing but one thing stands on one line
// with that.
func (p *page) holders(root *heap.Holder) {
	p.section("who holds it")
	p.line(p.faint.Render(fmt.Sprintf("  %9s %6s %10s", "holds", "share", "objects")))
	drawn := 0
	var draw func(h *heap.Holder, depth int)
	draw = func(h *heap.Holder, depth int) {
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
			p.line(p.faint.Render(fmt.Sprintf("  %9s %6s %10s  smaller ones", p.size(float64(left)),
				percent(float64(left)/float64(max(1, root.HeldBytes))), "")))
		}
	}
	draw(root, 0)
}

// carries tells that a holder holds nearly nothing but one thing: nothing else below it is worth a line.
func carries(h *heap.Holder, total int64) bool {
	return len(h.Inner) > 0 && h.Inner[0].HeldBytes > 19*h.HeldBytes/20 &&
		(len(h.Inner) == 1 || float64(h.Inner[1].HeldBytes) < leastShare*float64(total))
}

// chain joins the names of holders that stand on each other: package.loaded.app table → .cache table.
func (p *page) chain(names []string) string {
	text := names[0]
	for _, n := range names[1:] {
		if !strings.HasPrefix(n, ".") && !strings.HasPrefix(n, "[") || strings.Contains(text, " ") {
			text += " " + p.arrow + " "
		}
		text += n
	}
	return text
}

func (p *page) holderLine(h *heap.Holder, share float64, depth int, name string) {
	text := fmt.Sprintf("  %9s %6s %10s  %s", p.size(float64(h.HeldBytes)), percent(share), count(h.HeldCount), strings.Repeat("  ", depth))
	p.path(text, name)
}

// path draws a path behind its figures, on several lines where it is long: all of it is what was asked for.
func (p *page) path(figures, path string) {
	p.para(figures, clean(path), lipgloss.NewStyle())
}

func (p *page) tables(h heap.Heap) {
	if len(h.Tables) == 0 {
		return
	}
	p.section("largest tables")
	p.line(p.faint.Render(fmt.Sprintf("  %9s %9s %10s", "own", "holds", "entries")))
	for _, t := range h.Tables[:min(mostPlaces, len(h.Tables))] {
		text := fmt.Sprintf("  %9s %9s %10s  ", p.size(float64(t.Bytes)), p.size(float64(t.Held)), count(t.Entries))
		p.path(text, t.Path)
	}
}

func (p *page) cdata(h heap.Heap) {
	if len(h.CData) == 0 {
		return
	}
	p.section("C data")
	p.line(p.faint.Render(fmt.Sprintf("  %9s %10s", "bytes", "objects")))
	for _, c := range h.CData[:min(mostPlaces, len(h.CData))] {
		text := fmt.Sprintf("  %9s %10s  ", p.size(float64(c.Bytes)), count(c.Count))
		p.path(text, c.What+", "+c.Path)
	}
}
