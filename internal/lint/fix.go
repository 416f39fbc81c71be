package lint

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/files"
)

// A Change is a file with its fixes.
type Change struct {
	File     string
	Old, New []byte
	lines    []int // that change, from 1
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
func Fixes(findings []Finding) (changes []Change, err error) {
	by := map[string][]Fix{}
	var order []string
	for _, f := range findings {
		if f.Fix == nil || !strings.HasSuffix(f.File, ".lua") {
			continue
		}
		if by[f.File] == nil {
			order = append(order, f.File)
		}
		by[f.File] = append(by[f.File], *f.Fix)
	}
	slices.Sort(order)
	for _, file := range order {
		old, err := files.Read(file, mostSource)
		if err != nil {
			return nil, err
		}
		changes = append(changes, change(file, old, by[file]))
	}
	return changes, nil
}

func change(file string, old []byte, fixes []Fix) Change {
	slices.SortFunc(fixes, func(a, b Fix) int { return a.From - b.From })
	shift := 0
	if bytes.HasPrefix(old, []byte("\xef\xbb\xbf")) {
		shift = 3 // the engine counts behind it
	}
	c := Change{File: file, Old: old}
	at := 0
	for _, f := range fixes {
		from, to := f.From-1+shift, f.To+shift
		if from < at || to > len(old) {
			continue
		}
		c.New = append(append(c.New, old[at:from]...), f.Text...)
		c.lines = append(c.lines, 1+bytes.Count(old[:from], []byte("\n")))
		at = to
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

// Diff is the change as a unified diff. A fix keeps the number of lines, so both sides have the same ones.
func (c Change) Diff() string {
	old, now := strings.SplitAfter(string(c.Old), "\n"), strings.SplitAfter(string(c.New), "\n")
	if len(old) != len(now) {
		return fmt.Sprintf("Files %s and its change differ in their lines\n", c.File)
	}
	changed := slices.Compact(slices.Clone(c.lines))
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", c.File, c.File)
	for i := 0; i < len(changed); {
		from := max(1, changed[i]-surrounding)
		last := i
		for last+1 < len(changed) && changed[last+1] <= changed[last]+2*surrounding {
			last++
		}
		end := len(old)
		if old[end-1] == "" {
			end--
		}
		to := min(end, changed[last]+surrounding)
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", from, to-from+1, from, to-from+1)
		for line := from; line <= to; line++ {
			if old[line-1] == now[line-1] {
				b.WriteString(marked(" ", old[line-1]))
			} else {
				b.WriteString(marked("-", old[line-1]) + marked("+", now[line-1]))
			}
		}
		i = last + 1
	}
	return b.String()
}

func marked(mark, line string) string {
	if !strings.HasSuffix(line, "\n") {
		line += "\n\\ No newline at end of file\n"
	}
	return mark + line
}
