package profile

import (
	"io"

	"github.com/moonlap/moonlap/internal/jsontext"
)

// WriteSpeedscope writes the file format of speedscope (its schema:
// https://www.speedscope.app/file-format-schema.json). Each different stack is one sample, as heavy
// as the time that it means: the order in time is not kept.
func (p *Profile) WriteSpeedscope(to io.Writer) error {
	type frame struct {
		Name string `json:"name"`
		File string `json:"file,omitempty"`
		Line int    `json:"line,omitempty"`
	}
	type sampled struct {
		Type       string  `json:"type"`
		Name       string  `json:"name"`
		Unit       string  `json:"unit"`
		StartValue int64   `json:"startValue"`
		EndValue   int64   `json:"endValue"`
		Samples    [][]int `json:"samples"`
		Weights    []int64 `json:"weights"`
	}
	frames := []frame{}
	index := map[Frame]int{}
	out := sampled{Type: "sampled", Name: p.Title, Unit: "nanoseconds", Samples: [][]int{}, Weights: []int64{}}
	each := p.Period.Nanoseconds()
	if p.Unit == Bytes {
		out.Unit, each = "bytes", 1
	}
	if p.Unit == Time {
		each = 1
	}
	for _, s := range p.Stacks {
		stack := make([]int, len(s.Frames))
		for i, f := range s.Frames {
			n, ok := index[f]
			if !ok {
				n = len(frames)
				index[f] = n
				frames = append(frames, frame{f.Name(), f.File, f.Line})
			}
			stack[i] = n
		}
		weight := s.Count * each
		out.Samples = append(out.Samples, stack)
		out.Weights = append(out.Weights, weight)
		out.EndValue += weight
	}
	file := map[string]any{
		"$schema":  "https://www.speedscope.app/file-format-schema.json",
		"name":     p.Title,
		"exporter": "moonlap",
		"shared":   map[string]any{"frames": frames},
		"profiles": []sampled{out},
	}
	return jsontext.NewEncoder(to).Encode(file)
}
