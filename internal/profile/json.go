package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/jsontext"
)

// What a profile is as JSON. Stacks begin with the outermost frame.
type (
	jsonProfile struct {
		Schema     string       `json:"schema"`
		Kind       string       `json:"kind"`
		Title      string       `json:"title"`
		Moments    string       `json:"moments,omitempty"`
		By         string       `json:"by,omitempty"`
		Failed     int          `json:"failed"`
		Lost       int          `json:"lost"`
		Unit       Unit         `json:"unit,omitempty"` // of counts; samples where it is not said
		Start      time.Time    `json:"start"`
		DurationNS int64        `json:"duration_ns"`
		PeriodNS   int64        `json:"period_ns"`
		Found      any          `json:"found,omitempty"`
		Evidence   evidence.Set `json:"evidence,omitempty"`
		Stacks     []jsonStack  `json:"stacks"`
	}
	jsonStack struct {
		Frames []jsonFrame       `json:"frames"`
		Labels map[string]string `json:"labels,omitempty"`
		Count  int64             `json:"count"`
		Slices []int64           `json:"slices,omitempty"`

		Objects int64 `json:"objects,omitempty"` // that the bytes were allocated for
	}
	jsonFrame struct {
		Function string `json:"function"`
		File     string `json:"file,omitempty"`
		First    int    `json:"first_line,omitempty"`
		Line     int    `json:"line,omitempty"`
		Kind     Kind   `json:"kind"`
		Compiled bool   `json:"compiled,omitempty"`
	}
)

const jsonKind = "profile"

// WriteJSON writes all that the profile holds, on one line.
func (p *Profile) WriteJSON(to io.Writer, schema string) error {
	out := jsonProfile{
		Schema: schema, Kind: jsonKind, Title: p.Title, Moments: p.Moments, Unit: p.Unit, By: p.By, Failed: p.Failed, Lost: p.Lost,
		Found: p.Found, Evidence: p.Evidence, Start: p.Start, DurationNS: p.Duration.Nanoseconds(), PeriodNS: p.Period.Nanoseconds(), Stacks: []jsonStack{},
	}
	for _, s := range p.Stacks {
		one := jsonStack{Frames: []jsonFrame{}, Labels: s.Labels, Count: s.Count, Slices: s.Slices, Objects: s.Objects}
		for _, f := range s.Frames {
			one.Frames = append(one.Frames, jsonFrame(f))
		}
		out.Stacks = append(out.Stacks, one)
	}
	encode := jsontext.NewEncoder(to)
	return encode.Encode(out)
}

// ErrNotProfile is the error of what is no profile written by WriteJSON.
var ErrNotProfile = errors.New("not a profile that 'moonlap profile --format json' wrote")

// ReadJSON reads what WriteJSON wrote.
func ReadJSON(data []byte, schema string) (*Profile, error) {
	if err := files.CheckJSON("the profile", data); err != nil {
		return nil, err
	}
	var in struct {
		jsonProfile
		Found *found `json:"found"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			at := min(int(syntax.Offset), len(data))
			return nil, fmt.Errorf("%w: line %d: %w", ErrNotProfile, 1+bytes.Count(data[:at], []byte("\n")), err)
		}
		return nil, fmt.Errorf("%w: %w", ErrNotProfile, err)
	}
	switch {
	case in.Schema != schema:
		return nil, fmt.Errorf("%w: its schema is %q, and this moonlap reads %q", ErrNotProfile, in.Schema, schema)
	case in.Kind != jsonKind:
		return nil, fmt.Errorf("%w: it is of the kind %q", ErrNotProfile, in.Kind)
	case in.Unit != "" && in.Unit != Samples && in.Unit != Bytes && in.Unit != Time:
		return nil, fmt.Errorf("%w: it counts %q", ErrNotProfile, in.Unit)
	}
	earlier, err := in.Found.evidence()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotProfile, err)
	}
	p := &Profile{
		Title: in.Title, Moments: in.Moments, Unit: in.Unit, By: in.By, Failed: in.Failed, Lost: in.Lost, Evidence: earlier.Merge(in.Evidence), Start: in.Start,
		Duration: time.Duration(in.DurationNS), Period: time.Duration(in.PeriodNS),
	}
	var total int64
	for i, s := range in.Stacks {
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("%w: stack %d: %w", ErrNotProfile, i+1, err)
		}
		if total += s.Count; total > most {
			return nil, fmt.Errorf("%w: more than %d samples", ErrNotProfile, most)
		}
		frames := make([]Frame, len(s.Frames))
		for n, f := range s.Frames {
			frames[n] = Frame(f)
		}
		p.Stacks = append(p.Stacks, Stack{frames, s.Labels, s.Count, s.Slices, s.Objects})
	}
	p.Merge()
	return p, nil
}

// most samples that a profile may have: so many that no sum of them overflows.
const most = int64(1) << 52

func (s jsonStack) check() error {
	switch {
	case s.Count < 0 || s.Count > most:
		return fmt.Errorf("it was seen %d times", s.Count)
	case s.Objects < 0 || s.Objects > most:
		return fmt.Errorf("it has %d objects", s.Objects)
	case s.Slices == nil:
	case len(s.Slices) != Slices:
		return fmt.Errorf("%d slices, not %d", len(s.Slices), Slices)
	case slices.ContainsFunc(s.Slices, func(n int64) bool { return n < 0 || n > s.Count }) || sum(s.Slices) != s.Count:
		return fmt.Errorf("its slices are not its count of %d", s.Count)
	}
	for _, f := range s.Frames {
		if !slices.Contains(kinds, f.Kind) {
			return fmt.Errorf("%q is no kind of a frame", f.Kind)
		}
	}
	return nil
}
