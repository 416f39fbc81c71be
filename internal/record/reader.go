package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/moonlap/moonlap/internal/files"
)

// mostMemory is what the values of a record may take: some hours of measuring.
const mostMemory = 2 * files.MostMemory

// A Reader reads a record line by line.
type Reader struct {
	r       *bufio.Reader
	name    string
	line    int   // number of the line last read
	max     int   // MaxLine, but for tests
	memory  int64 // that the lines read so far may take, see [files.JSONMemory]
	skipped map[string]int
	err     error // the fault that ended the record
}

// NewReader returns a Reader on r; errors call it name.
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
		if r.memory += files.JSONMemory(b); r.memory > mostMemory {
			r.err = &FormatError{
				File: r.name, Line: r.line, Advice: adviceBefore,
				Text: fmt.Sprintf("what is up to here would take more memory than %d MiB, the most that a record may", int64(mostMemory)>>20),
			}
			break
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
		case errors.As(err, new(*FormatError)):
			return nil, err
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

// Read reads a whole record; errors call it name. It always returns what
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
	f, err := files.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the record: %w", err)
	}
	inflated, err := Inflate(f, path)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read the record %s: %w", path, err)
	}
	type file struct {
		io.Reader
		io.Closer
	}
	return file{inflated, f}, nil
}

// Inflate is the text of r, which gzip may have compressed; errors call it name.
func Inflate(r io.Reader, name string) (io.Reader, error) {
	packed := &counter{Reader: r}
	buffered := bufio.NewReader(packed)
	if head, _ := buffered.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return buffered, nil
	}
	inflated, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, err
	}
	return &inflater{from: inflated, packed: packed, name: name}, nil
}

// counter counts what is read.
type counter struct {
	io.Reader
	read int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.read += int64(n)
	return n, err
}

// An inflater ends with an error where a text is so many times as large as its compressed form as no record is.
type inflater struct {
	from   io.Reader
	packed *counter
	name   string
	read   int64
}

const (
	mostRatio = 50      // records have 3 to 10
	freeRatio = 4 << 20 // bytes: a short text may be one number again and again
)

func (i *inflater) Read(b []byte) (int, error) {
	n, err := i.from.Read(b)
	if i.read += int64(n); i.read > freeRatio+mostRatio*i.packed.read {
		return 0, &FormatError{
			File: i.name, Advice: adviceWriter,
			Text: fmt.Sprintf("%d bytes inflate to more than %d times as many, which those of a record never do", i.packed.read, mostRatio),
		}
	}
	return n, err
}
