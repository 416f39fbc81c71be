package profiles

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
)

// A ManyError is a record that holds several profiles, where none was chosen.
type ManyError struct {
	File  string
	Names []string // of its cases that have one
}

func (e *ManyError) Error() string {
	return fmt.Sprintf("%s holds several profiles: which --case? There are %s", e.File, strings.Join(e.Names, ", "))
}

// Read reads a profile that --format json wrote, or that of a case in a record, which is returned, too; "" is its only case.
func Read(file, ofCase string) (*profile.Profile, *record.Record, error) {
	f, err := files.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	// A record has several lines, and may be compressed.
	from := bufio.NewReader(f)
	const recordBegins = `{"type":"run"`
	head, _ := from.Peek(len(recordBegins))
	if !bytes.HasPrefix(head, []byte("\x1f\x8b")) && string(head) != recordBegins {
		p, err := readDocument(from, file)
		return p, nil, err
	}
	text, err := record.Inflate(from, file)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	rec, err := record.Read(text, file)
	if rec == nil || len(rec.Cases) == 0 {
		return nil, nil, errors.Join(err, fmt.Errorf("%s holds no case", file))
	}
	p, err := ofRecord(rec, file, ofCase)
	return p, rec, err
}

// Most is more bytes than a profile of hours has.
const Most = 256 << 20

func readDocument(from io.Reader, file string) (*profile.Profile, error) {
	data, err := io.ReadAll(files.Limit(from, file, Most))
	if err != nil {
		return nil, err
	}
	p, err := profile.ReadJSON(data)
	if errors.Is(err, profile.ErrNotProfile) {
		return nil, fmt.Errorf("%s: %w, nor a record", file, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// ofRecord chooses a case's profile.
func ofRecord(rec *record.Record, file, ofCase string) (*profile.Profile, error) {
	var names []string
	var chosen *record.Profile
	for _, c := range rec.Cases {
		kept := rec.ProfileOf(c.Case)
		if kept == nil {
			continue
		}
		names = append(names, c.Name)
		if ofCase == "" || c.Name == ofCase {
			chosen = kept
		}
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("%s: no case has a profile; 'moonlap bench --profile' keeps them", file)
	case chosen == nil:
		return nil, fmt.Errorf("%s: no case %q has a profile; there are %s", file, ofCase, strings.Join(names, ", "))
	case ofCase == "" && len(names) > 1:
		return nil, &ManyError{file, names}
	}
	p, err := profile.ReadJSON(chosen.Profile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}
