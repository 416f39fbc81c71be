package profile

import (
	"cmp"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
)

// Hot is a profile that a record keeps in short: of Lua's lines the hottest, up to most.
func Hot(kept *record.Profile, most int) *record.Hot {
	hot := &record.Hot{By: kept.By, States: []record.StateShare{}, Lines: []record.HotLine{}}
	p, err := ReadJSON(kept.Profile)
	if err != nil {
		hot.Fault = err.Error()
		return hot
	}
	hot.Samples = p.Total()
	for _, s := range p.ByLabel("state") {
		hot.States = append(hot.States, record.StateShare{State: s.Name, Share: s.Share})
	}
	index := map[Frame]int{}
	for _, s := range p.Stacks {
		f, ok := innermostLua(s.Frames)
		if !ok {
			continue
		}
		key := Frame{Function: f.Function, File: f.File, Line: cmp.Or(f.Line, f.FirstLine), LastLine: f.LastLine}
		i, known := index[key]
		if !known {
			i = len(hot.Lines)
			index[key] = i
			hot.Lines = append(hot.Lines, record.HotLine{Function: key.Function, File: key.File, Line: key.Line, LastLine: key.LastLine})
		}
		hot.Lines[i].Samples += s.Count
	}
	for i := range hot.Lines {
		hot.Lines[i].Share = float64(hot.Lines[i].Samples) / float64(hot.Samples)
	}
	slices.SortStableFunc(hot.Lines, func(a, b record.HotLine) int { return cmp.Compare(b.Samples, a.Samples) })
	hot.Lines = hot.Lines[:min(most, len(hot.Lines))]
	return hot
}
