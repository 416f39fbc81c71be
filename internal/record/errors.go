package record

import (
	"errors"
	"fmt"
)

// ErrUnknownType is what a [FormatError] wraps when a line is sound but of a type
// that this version does not know.
var ErrUnknownType = errors.New("unknown line type")

// FormatError says where a record stops being one, and what to do about it.
type FormatError struct {
	File   string // as the caller named it; "" for a line that is in no file
	Line   int    // from 1; 0 when unknown
	Text   string // what is wrong
	Advice string // what to do about it
	Err    error  // the cause, when there is one
}

func (e *FormatError) Error() string {
	text := e.Text
	switch {
	case e.File != "" && e.Line > 0:
		text = fmt.Sprintf("%s:%d: %s", e.File, e.Line, text)
	case e.File != "":
		text = e.File + ": " + text
	}
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}

func (e *FormatError) Unwrap() error { return e.Err }

// Advice that several faults share.
const (
	adviceBefore = "what stands before this line is whole and was used"
	adviceWriter = "the program that wrote it has a fault; " + adviceBefore
)
