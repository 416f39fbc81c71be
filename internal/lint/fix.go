package lint

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/record"
)

// A Change is a file with its fixes.
type Change struct {
	File     string
	Old, New []byte
	edits    []Edit // in order
}

// Fixable is how many findings have a fix.
func Fixable(findings []Finding) (n int) {
	for _, f := range findings {
		if f.Fix != nil {
			n++
		}
	}
	return n
}

// Fixes are the files that the fixes of findings change. Of two that overlap the first counts; another run finds the second.
// A fix with which LuaJIT would refuse the file is left out: there are too many locals, or a goto jumps over the new one.
func Fixes(luajit record.Runtime, findings []Finding) (changes []Change, err error) {
	by := map[string][]Fix{}
	for _, f := range findings {
		if f.Fix != nil && strings.HasSuffix(f.File, ".lua") {
			by[f.File] = append(by[f.File], f.Fix)
		}
	}
	w := worker{luajit: luajit}
	defer w.close()
	for _, file := range slices.Sorted(maps.Keys(by)) {
		old, err := files.Read(file, mostSource)
		if err != nil {
			return nil, err
		}
		c, err := w.changeTaken(file, old, by[file])
		if err != nil {
			return nil, err
		}
		if len(c.edits) > 0 {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// changeTaken is a file with those of its fixes with which LuaJIT takes it: all, or the ones that it takes one after the other.
func (w *worker) changeTaken(file string, old []byte, fixes []Fix) (Change, error) {
	all := change(file, old, fixes)
	if ok, err := w.takes(all); ok || err != nil {
		return all, err
	}
	var kept []Fix
	for _, fix := range fixes {
		some := append(slices.Clone(kept), fix)
		if ok, err := w.takes(change(file, old, some)); err != nil {
			return Change{}, err
		} else if ok {
			kept = some
		}
	}
	return change(file, old, kept), nil
}

// takes reports whether LuaJIT takes what a change makes of its file.
func (w *worker) takes(c Change) (bool, error) {
	answers, err := w.ask(chunk{file: c.File, text: c.New, class: Test, line: 1, column: 1}.request(0))
	return !slices.ContainsFunc(answers, func(a answer) bool { return a.Type == "fault" }), err
}

func change(file string, old []byte, fixes []Fix) Change {
	shift := 0
	if bytes.HasPrefix(old, []byte("\xef\xbb\xbf")) {
		shift = 3 // the engine counts behind it
	}
	c := Change{File: file, Old: old}
	for _, fix := range fixes {
		if slices.ContainsFunc(fix, func(e Edit) bool {
			return e.To+shift > len(old) || slices.ContainsFunc(c.edits, func(o Edit) bool { return e.From <= o.To && o.From <= e.To })
		}) {
			continue
		}
		c.edits = append(c.edits, fix...)
	}
	slices.SortStableFunc(c.edits, func(a, b Edit) int { return a.From - b.From })
	at := 0
	for i, e := range c.edits {
		e.From, e.To = e.From+shift, e.To+shift
		c.New = append(append(c.New, old[at:e.From-1]...), e.Text...)
		at, c.edits[i] = e.To, e
	}
	c.New = append(c.New, old[at:]...)
	return c
}

// Write writes the new text into the file.
func (c Change) Write() error {
	info, err := os.Stat(c.File)
	if err != nil {
		return err
	}
	return files.Write(c.File, c.New, info.Mode().Perm())
}

const surrounding = 3 // lines around a change, as diff -u has them

// A hunk is lines of the old text and what takes their place; first counts from 0.
type hunk struct {
	first    int
	old, now []string
}

// hunks are the lines that the edits change.
func (c Change) hunks(lines []string) (all []hunk) {
	starts := make([]int, 0, len(lines)) // bytes before each line
	at := 0
	for _, line := range lines {
		starts = append(starts, at)
		at += len(line)
	}
	lineOf := func(offset int) int { // of a byte, from 0
		i, exact := slices.BinarySearch(starts, offset)
		if !exact {
			i--
		}
		return min(i, len(lines)-1)
	}
	for i := 0; i < len(c.edits); {
		first, last := lineOf(c.edits[i].From-1), lineOf(max(c.edits[i].From-1, c.edits[i].To-1))
		k := i + 1
		for ; k < len(c.edits) && lineOf(c.edits[k].From-1) <= last; k++ {
			last = max(last, lineOf(max(c.edits[k].From-1, c.edits[k].To-1)))
		}
		end := starts[last] + len(lines[last])
		var now strings.Builder
		from := starts[first]
		for _, e := range c.edits[i:k] {
			now.Write(c.Old[from : e.From-1])
			now.WriteString(e.Text)
			from = e.To
		}
		now.Write(c.Old[from:end])
		h := hunk{first, lines[first : last+1], strings.SplitAfter(now.String(), "\n")}
		if h.now[len(h.now)-1] == "" {
			h.now = h.now[:len(h.now)-1]
		}
		for len(h.old) > 0 && len(h.now) > 0 && h.old[len(h.old)-1] == h.now[len(h.now)-1] {
			h.old, h.now = h.old[:len(h.old)-1], h.now[:len(h.now)-1]
		}
		all = append(all, h)
		i = k
	}
	return all
}

// Diff is the change as a unified diff.
func (c Change) Diff() string {
	lines := strings.SplitAfter(string(c.Old), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	all := c.hunks(lines)
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", c.File, c.File)
	more := 0 // lines that the new text has more so far
	for i := 0; i < len(all); {
		k := i + 1
		for k < len(all) && all[k].first-all[k-1].first-len(all[k-1].old) <= 2*surrounding {
			k++
		}
		from := max(0, all[i].first-surrounding)
		to := min(len(lines), all[k-1].first+len(all[k-1].old)+surrounding)
		var body strings.Builder
		at, added := from, 0
		for _, h := range all[i:k] {
			body.WriteString(marked(" ", lines[at:h.first]) + marked("-", h.old) + marked("+", h.now))
			at = h.first + len(h.old)
			added += len(h.now) - len(h.old)
		}
		body.WriteString(marked(" ", lines[at:to]))
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n%s", from+1, to-from, from+1+more, to-from+added, body.String())
		more += added
		i = k
	}
	return b.String()
}

func marked(mark string, lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(mark + line)
		if !strings.HasSuffix(line, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
	return b.String()
}
