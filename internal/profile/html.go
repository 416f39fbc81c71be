package profile

import (
	_ "embed"
	"encoding/json"
	"html"
	"io"
	"strings"
)

var (
	//go:embed assets/flame.html
	flameHTML string
	//go:embed assets/flame.css
	flameCSS string
	//go:embed assets/flame.js
	flameJS string
)

// WriteHTML writes a flame graph as one page that loads nothing: a click zooms in, the field
// searches, the boxes choose by label (requests, states), and the other way up shows who called.
func (p *Profile) WriteHTML(to io.Writer) error {
	type stack struct {
		Frames []int             `json:"f"`
		Count  int64             `json:"c"`
		Labels map[string]string `json:"l,omitempty"`
	}
	type frame struct {
		Name  string `json:"n"`
		Kind  string `json:"k"`
		Place string `json:"p,omitempty"`
	}
	data := struct {
		Title  string  `json:"title"`
		Period int64   `json:"period"` // ns
		Frames []frame `json:"frames"`
		Stacks []stack `json:"stacks"`
	}{Title: p.Title, Period: p.Period.Nanoseconds(), Frames: []frame{}, Stacks: []stack{}}
	index := map[Frame]int{}
	for _, s := range p.Stacks {
		one := stack{Frames: []int{}, Count: s.Count, Labels: s.Labels}
		for _, f := range s.Frames {
			n, ok := index[f]
			if !ok {
				n = len(data.Frames)
				index[f] = n
				kind := string(f.Kind)
				if f.Compiled {
					kind = "jit"
				}
				data.Frames = append(data.Frames, frame{f.Name(), kind, f.File})
			}
			one.Frames = append(one.Frames, n)
		}
		data.Stacks = append(data.Stacks, one)
	}
	encoded, err := json.Marshal(data) // escapes <, > and &, so that no name ends the script
	if err != nil {
		return err
	}
	_, err = strings.NewReplacer(
		"{{title}}", html.EscapeString(strings.ToValidUTF8(p.Title, "\uFFFD")),
		"{{css}}", flameCSS,
		"{{data}}", string(encoded),
		"{{js}}", flameJS,
	).WriteString(to, flameHTML)
	return err
}
