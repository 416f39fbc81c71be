package profile

import (
	"encoding/json"
	"io"
	"time"
)

// jsonFrame is a frame as WriteJSON has it.
type jsonFrame struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	First    int    `json:"first_line,omitempty"`
	Line     int    `json:"line,omitempty"`
	Kind     Kind   `json:"kind"`
	Compiled bool   `json:"compiled,omitempty"`
}

// WriteJSON writes all that the profile holds. Stacks begin with the outermost frame.
func (p *Profile) WriteJSON(to io.Writer, schema string) error {
	type stack struct {
		Frames []jsonFrame       `json:"frames"`
		Labels map[string]string `json:"labels,omitempty"`
		Count  int64             `json:"count"`
	}
	out := struct {
		Schema     string    `json:"schema"`
		Kind       string    `json:"kind"`
		Title      string    `json:"title"`
		Start      time.Time `json:"start"`
		DurationNS int64     `json:"duration_ns"`
		PeriodNS   int64     `json:"period_ns"`
		Stacks     []stack   `json:"stacks"`
	}{schema, "profile", p.Title, p.Start, p.Duration.Nanoseconds(), p.Period.Nanoseconds(), []stack{}}
	for _, s := range p.Stacks {
		one := stack{Frames: []jsonFrame{}, Labels: s.Labels, Count: s.Count}
		for _, f := range s.Frames {
			one.Frames = append(one.Frames, jsonFrame(f))
		}
		out.Stacks = append(out.Stacks, one)
	}
	encode := json.NewEncoder(to)
	encode.SetEscapeHTML(false)
	return encode.Encode(out)
}
