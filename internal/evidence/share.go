package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/ui"
)

// A Share is a part of the samples, or of their time, from 0 to 1.
type Share struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
	From  string  `json:"from,omitempty"` // of a library's line: whose line it was called from, most often
}

// Shares are parts of sums by their names, the largest first. A part without a name is left out.
func Shares(sums map[string]float64, of float64) []Share {
	all := []Share{}
	for name, sum := range sums {
		if name != "" {
			all = append(all, Share{Name: name, Share: sum / max(1, of)})
		}
	}
	slices.SortFunc(all, func(a, b Share) int { return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Name, b.Name)) })
	return all
}

// MergeShares adds up parts of the same name.
func MergeShares(a, b []Share) []Share {
	sums, from := map[string]float64{}, map[string]Share{}
	for _, list := range [][]Share{a, b} {
		for _, s := range list {
			sums[s.Name] += s.Share
			if s.Share >= from[s.Name].Share {
				from[s.Name] = s
			}
		}
	}
	all := Shares(sums, 1)
	for i := range all {
		all[i].From = from[all[i].Name].From
	}
	return all
}

// Scaled is the shares of a part of what was observed.
func Scaled(all []Share, part float64) []Share {
	all = slices.Clone(all)
	for i := range all {
		all[i].Share *= part
	}
	return all
}

// Group adds up what has the same key, in the order in which keys come first.
func Group[T any, K comparable](all []T, key func(T) K, add func(to *T, one T)) []T {
	index := map[K]int{}
	groups := []T{}
	for _, one := range all {
		k := key(one)
		i, there := index[k]
		if !there {
			index[k] = len(groups)
			groups = append(groups, one)
			continue
		}
		add(&groups[i], one)
	}
	return groups
}

// ListShares draws the largest parts under a title.
func ListShares(p *ui.Page, title string, list []Share) {
	if len(list) == 0 {
		return
	}
	p.Section(title)
	for s := range ui.First(p, list) {
		line, from := fmt.Sprintf("  %5s  %s", ui.Percent(s.Share), ui.Clean(s.Name)), "called from "+ui.Clean(s.From)
		switch {
		case s.From == "":
			p.Line(p.Shorten(line, p.Options.Width))
		case lipgloss.Width(line+", "+from) <= p.Options.Width:
			p.Line(line + p.Faint.Render(", "+from))
		default:
			p.Line(p.Shorten(line, p.Options.Width))
			p.Line(p.Faint.Render(p.Shorten("         "+from, p.Options.Width)))
		}
	}
}

// Parts are the largest parts in words: "62 % compiled; 30 % in C"; "" where there are none.
func Parts(list []Share) string {
	const most = 4
	var parts []string
	for _, s := range list[:min(most, len(list))] {
		parts = append(parts, ui.Percent(s.Share)+" "+ui.Clean(s.Name))
	}
	if len(list) > most {
		parts = append(parts, ui.Count(len(list)-most)+" more")
	}
	return strings.Join(parts, "; ")
}

// Latest is what is known of each worker, in the order of their process IDs: of one that both have, the later.
func Latest[T any](earlier, later []T, pid func(T) int) []T {
	all := Group(slices.Concat(earlier, later), pid, func(to *T, one T) { *to = one })
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(pid(a), pid(b)) })
	return all
}
