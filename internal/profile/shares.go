package profile

import (
	"cmp"
	"maps"
	"slices"
)

// A Share is what part of the samples something has.
type Share struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
}

// LuaLines is how often each Lua line was the innermost, the most frequent first.
func (p *Profile) LuaLines() []Share {
	return p.shares(func(s Stack) string {
		f, ok := innermostLua(s.Frames)
		if !ok {
			return ""
		}
		f.Compiled = false
		return f.Name()
	})
}

// ByLabel is how often each value of a label was there, the most frequent first.
func (p *Profile) ByLabel(key string) []Share {
	return p.shares(func(s Stack) string { return s.Labels[key] })
}

// shares counts the samples by name; "" is left out.
func (p *Profile) shares(name func(Stack) string) []Share {
	counts := map[string]int64{}
	for _, s := range p.Stacks {
		if n := name(s); n != "" {
			counts[n] += s.Count
		}
	}
	all := []Share{}
	for _, n := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, Share{n, float64(counts[n]) / float64(max(1, p.Total()))})
	}
	slices.SortStableFunc(all, func(a, b Share) int { return cmp.Compare(b.Share, a.Share) })
	return all
}
