package store

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/moonlap/moonlap/internal/record"
)

// Draft makes a draft of a record file that was kept elsewhere, under a name, as if its run
// had been saved. A record that is not whole, or in which no case has a figure, is refused.
func (s *Store) Draft(path, name string) (*Draft, error) {
	if err := s.fit(path); err != nil {
		return nil, err
	}
	f, err := record.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, lines := NewDraft(), record.NewReader(f, path)
	for {
		l, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return d, nil
		}
		if run, ok := l.(record.Run); ok {
			run.SavedAs = name
			l = run
		}
		if err == nil {
			err = d.Write(l)
		}
		if err != nil {
			return nil, err
		}
	}
}

// fit tells why the record in a file is not fit to be kept.
func (s *Store) fit(path string) error {
	rec, err := record.ReadFile(path)
	if err != nil {
		return err
	}
	if !rec.Complete() {
		return fmt.Errorf("%s: the run was interrupted", path)
	}
	if _, err := inUTC(rec.Run.Started); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !HasFigure(s.Summarize(rec)) {
		return fmt.Errorf("%s: no case has a figure", path)
	}
	return nil
}

// HasFigure reports whether a case has one; else there is nothing to keep.
func HasFigure(res *record.Results) bool {
	return slices.ContainsFunc(res.Cases, func(c record.CaseResult) bool { return c.NSPerCall != nil })
}
