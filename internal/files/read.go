package files

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// Open opens a file for reading: a plain one, or a pipe. A device, which may have no end, is refused before it is opened.
func Open(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if err := readable(name, info); err != nil {
		return nil, err
	}
	f, err := opened(name, info)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = readable(name, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// patience is how long a named pipe is waited for until somebody opens it for writing.
var patience = 10 * time.Second

// opened opens a file. Where nobody writes to a pipe the kernel waits for ever, and Ctrl-C does not end that.
func opened(name string, info fs.FileInfo) (*os.File, error) {
	if info.Mode().Type() != fs.ModeNamedPipe {
		return os.Open(name)
	}
	type result struct {
		file *os.File
		err  error
	}
	done := make(chan result, 1)
	go func() {
		f, err := os.Open(name)
		done <- result{f, err}
	}()
	select {
	case r := <-done:
		return r.file, r.err
	case <-time.After(patience):
		return nil, fmt.Errorf("%s is a pipe, and nobody has opened it for writing in %v", name, patience)
	}
}

func readable(name string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular(), mode.Type() == fs.ModeNamedPipe:
		return nil
	case mode.IsDir():
		return fmt.Errorf("%s is a folder, not a file", name)
	}
	return fmt.Errorf("%s is neither a plain file nor a pipe: copy what is wanted of it into a file", name)
}

// Read is the whole of a file that [Open] opens, where it has no more than most bytes; else the error is a [*LimitError].
func Read(name string, most int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > most {
		return nil, &LimitError{Name: name, What: "holds more than", Most: most}
	}
	return io.ReadAll(Limit(f, name, most))
}

// A LimitError is the error of what is larger than anything that moonlap writes.
type LimitError struct {
	Name   string
	What   string // it does
	Most   int64  // bytes
	Remedy string
}

func (e *LimitError) Error() string {
	text := fmt.Sprintf("%s %s %s, the most that is read", e.Name, e.What, size(e.Most))
	if e.Remedy != "" {
		text += ": " + e.Remedy
	}
	return text
}

func size(bytes int64) string {
	if bytes >= 1<<20 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}

// Limit is r with no more than most bytes, behind which it fails with a [*LimitError].
func Limit(r io.Reader, name string, most int64) io.Reader {
	return &limited{r, most, &LimitError{Name: name, What: "holds more than", Most: most}}
}

type limited struct {
	io.Reader
	left int64
	err  error
}

func (l *limited) Read(b []byte) (int, error) {
	if l.left < 0 {
		return 0, l.err
	}
	n, err := l.Reader.Read(b[:min(int64(len(b)), l.left+1)])
	if l.left -= int64(n); l.left < 0 {
		return n - 1, l.err
	}
	return n, err
}

// MostMemory is how much of ours the values of one file may take, as [JSONMemory] has it.
const MostMemory = 512 << 20

// JSONMemory bounds the memory that a text as JSON may take when it is read, without reading it: some texts take forty times
// their size. A value costs a word and what the slice that holds it has to spare; an object or a list is the largest of our types.
func JSONMemory(text []byte) int64 {
	const value, composite = 24, 128
	objects := bytes.Count(text, []byte{'{'}) + bytes.Count(text, []byte{'['}) + bytes.Count(text, []byte("null"))
	return int64(len(text)) + value*int64(bytes.Count(text, []byte{','})) + composite*int64(objects)
}

// CheckJSON refuses a text that takes more memory than [MostMemory].
func CheckJSON(name string, text []byte) error {
	if JSONMemory(text) > MostMemory {
		return &LimitError{Name: name, What: "would take more memory than", Most: MostMemory}
	}
	return nil
}
