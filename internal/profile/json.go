package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/jsontext"
	"github.com/moonlap/moonlap/internal/record"
)

// A Document is what is written of workers: a head, stacks and evidence.
type Document struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"` // which command wrote it: "profile", "capture" or "explain"
	*Profile
}

// documents are those of documents.
var documents = []string{"profile", "capture", "explain"}

// WriteJSON writes all that the profile holds, on one line.
func (p *Profile) WriteJSON(to io.Writer) error {
	return p.WriteDocument(to, documents[0])
}

// WriteDocument writes all that the profile holds as a document of a kind, on one line.
func (p *Profile) WriteDocument(to io.Writer, kind string) error {
	whole := *p
	if whole.Stacks == nil {
		whole.Stacks = []Stack{} // a list, if an empty one
	}
	return jsontext.NewEncoder(to).Encode(Document{record.Schema, kind, &whole})
}

// ErrNotProfile is the error of what is no document.
var ErrNotProfile = errors.New("not a profile that 'moonlap profile --format json' wrote")

// ReadJSON reads what WriteJSON wrote.
func ReadJSON(data []byte) (*Profile, error) {
	d, err := ReadDocument(data)
	return d.Profile, err
}

// ReadDocument reads what WriteDocument wrote, and files of earlier versions.
func ReadDocument(data []byte) (Document, error) {
	if err := files.CheckJSON("the profile", data); err != nil {
		return Document{}, err
	}
	d, err := decode(data)
	if err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			at := min(int(syntax.Offset), len(data))
			return Document{}, fmt.Errorf("%w: line %d: %w", ErrNotProfile, 1+bytes.Count(data[:at], []byte("\n")), err)
		}
		return Document{}, fmt.Errorf("%w: %w", ErrNotProfile, err)
	}
	switch {
	case d.Schema != record.Schema:
		return Document{}, fmt.Errorf("%w: its schema is %q, and this moonlap reads %q", ErrNotProfile, d.Schema, record.Schema)
	case !slices.Contains(documents, d.Kind):
		return Document{}, fmt.Errorf("%w: it is of the kind %q", ErrNotProfile, d.Kind)
	case d.Unit != "" && d.Unit != Samples && d.Unit != Bytes && d.Unit != Time:
		return Document{}, fmt.Errorf("%w: it counts %q", ErrNotProfile, d.Unit)
	}
	var total int64
	for i, s := range d.Stacks {
		if err := s.check(); err != nil {
			return Document{}, fmt.Errorf("%w: stack %d: %w", ErrNotProfile, i+1, err)
		}
		if total += s.Count; total > most {
			return Document{}, fmt.Errorf("%w: more than %d samples", ErrNotProfile, most)
		}
	}
	d.Merge()
	return d, nil
}

// most samples that a profile may have: no sum of as many overflows.
const most = int64(1) << 52

func (s Stack) check() error {
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
