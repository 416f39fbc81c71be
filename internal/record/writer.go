package record

import (
	"fmt"
	"io"
	"sync"
)

// A Writer writes a record line by line. It may be used from several goroutines.
type Writer struct {
	mu  sync.Mutex
	w   io.Writer
	err error // the first failed write; the record ends there
}

// NewWriter returns a Writer on w, which should not buffer: each line is handed over
// in one write, so that a crash loses none that was written.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write appends one line. A line that cannot be said in JSON (NaN, infinity) is an
// error of that line alone. A failed write, such as on a full disk, sticks: every
// later Write returns it again, because a hole in a record would go unnoticed.
func (w *Writer) Write(l Line) error {
	b, err := EncodeLine(l)
	if err != nil {
		return fmt.Errorf("keep the record: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	n, err := w.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.err = fmt.Errorf("keep the record: %w; what was written before is whole", err)
	}
	return w.err
}
