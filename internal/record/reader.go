package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// A Reader reads a record line by line.
type Reader struct {
	r       *bufio.Reader
	name    string
	line    int // number of the line last read
	max     int // MaxLine, but for tests
	skipped map[string]int
	err     error // the fault that ended the record
}

// NewReader returns a Reader on r; name stands for it in errors.
func NewReader(r io.Reader, name string) *Reader {
	return &Reader{r: bufio.NewReader(r), name: name, max: MaxLine, skipped: map[string]int{}}
}

// Next returns the next line, and [io.EOF] after the last. Line types and fields that
// are unknown to this version are skipped and counted. Any other line that does not
// belong in a record is a [*FormatError]; nothing behind it can be read, so it sticks.
func (r *Reader) Next() (Line, error) {
	for r.err == nil {
		b, err := r.readLine()
		if err != nil {
			r.err = err
			break
		}
		if len(bytes.TrimSpace(b)) == 0 {
			continue
		}
		l, skipped, err := decodeLine(b)
		if skipped != "" {
			r.skipped[skipped]++
		}
		if errors.Is(err, ErrUnknownType) {
			continue
		}
		if err != nil {
			r.err = r.place(err)
			break
		}
		return l, nil
	}
	return nil, r.err
}

// Skipped counts what Next skipped, by name: "type" for lines, "type.field" for
// lines with a field (the first is named) that this version does not know.
func (r *Reader) Skipped() map[string]int { return r.skipped }

// readLine returns the next line without its end; the last one may lack it.
func (r *Reader) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := r.r.ReadSlice('\n')
		if len(line) == 0 && len(part) > 0 {
			r.line++
		}
		if len(line)+len(part) > r.max {
			return nil, &FormatError{
				File: r.name, Line: r.line,
				Text:   fmt.Sprintf("a line of more than %d bytes", r.max),
				Advice: adviceBefore,
			}
		}
		line = append(line, part...)
		switch {
		case err == nil, err == io.EOF && len(line) > 0:
			return line, nil
		case err == io.EOF:
			return nil, io.EOF
		case err != bufio.ErrBufferFull:
			return nil, fmt.Errorf("read the record %s: %w", r.name, err)
		}
	}
}

// place puts the reader's position into a [*FormatError].
func (r *Reader) place(err error) error {
	var f *FormatError
	if errors.As(err, &f) {
		f.File, f.Line = r.name, r.line
	}
	return err
}

// Read reads a whole record; name stands for it in errors. It always returns what
// could be read, also beside an error: a [*FormatError] where the record is corrupt
// or cut off, or the error of the reader.
func Read(r io.Reader, name string) (*Record, error) {
	rec := &Record{}
	lines := NewReader(r, name)
	for {
		l, err := lines.Next()
		rec.Skipped = lines.Skipped()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = lines.place(rec.Add(l))
		}
		if err != nil {
			return rec, rec.spoil(err)
		}
	}
	switch {
	case rec.Run.Schema == "":
		return rec, rec.spoil(&FormatError{
			File: name, Text: "the record is empty", Advice: "nothing was measured, or it was not kept",
		})
	case rec.End == nil:
		return rec, rec.spoil(&FormatError{
			File: name, Line: lines.line,
			Text:   "the record has no end line: moonlap was stopped before it had finished",
			Advice: "what is there is whole and was used",
		})
	}
	return rec, nil
}

// ReadFile reads the record in the file path, as [Read] does. The record is nil when
// the file cannot be opened.
func ReadFile(path string) (*Record, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, path)
}

// Open opens the file of a record: one that is compressed with gzip, as in the history, or
// one as it is.
func Open(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the record: %w", err)
	}
	type file struct {
		io.Reader
		io.Closer
	}
	buffered := bufio.NewReader(f)
	if head, _ := buffered.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return file{buffered, f}, nil
	}
	inflated, err := gzip.NewReader(buffered)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read the record %s: %w", path, err)
	}
	return file{inflated, f}, nil
}
