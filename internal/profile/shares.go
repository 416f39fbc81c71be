package profile

import "github.com/moonlap/moonlap/internal/evidence"

// LuaLines is how often each Lua line was the innermost, the most frequent first.
func (p *Profile) LuaLines() []evidence.Share {
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
func (p *Profile) ByLabel(key string) []evidence.Share {
	return p.shares(func(s Stack) string { return s.Labels[key] })
}

// shares counts the samples by name; "" is left out.
func (p *Profile) shares(name func(Stack) string) []evidence.Share {
	sums := map[string]float64{}
	for _, s := range p.Stacks {
		sums[name(s)] += float64(s.Count)
	}
	return evidence.Shares(sums, float64(p.Total()))
}
