package profile

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// WriteFolded writes a line for each stack: its frames from the outermost on with semicolons between
// them, a blank, and the count, as FlameGraph's tools read it.
func (p *Profile) WriteFolded(to io.Writer) error {
	counts := map[string]int64{}
	for _, s := range p.Stacks {
		names := make([]string, len(s.Frames))
		for i, f := range s.Frames {
			names[i] = folded(f.Name())
		}
		counts[strings.Join(names, ";")] += s.Count
	}
	w := bufio.NewWriter(to)
	for _, stack := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, "%s %d\n", stack, counts[stack])
	}
	return w.Flush()
}
