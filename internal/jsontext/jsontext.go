// Package jsontext writes JSON that a terminal may show: names in it come from programs that may have chosen them to harm whoever
// looks.
package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// NewEncoder is an encoder of JSON, a line each value, with <, > and & as they are and all control characters escaped.
func NewEncoder(to io.Writer) *json.Encoder {
	e := json.NewEncoder(escaper{to})
	e.SetEscapeHTML(false)
	return e
}

// Write writes a value as indented JSON, for files and pipes that people look into. Its errors are those of the value and of to.
func Write(to io.Writer, value any) error {
	e := NewEncoder(to)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// An escaper escapes the control characters that package json leaves: DEL, and C1, of which U+009B begins what a terminal obeys.
// Within JSON they stand in strings alone. The encoder gives it whole values.
type escaper struct{ to io.Writer }

// Write implements io.Writer.
func (e escaper) Write(b []byte) (int, error) {
	if _, err := e.to.Write(escape(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// escape is a text in JSON without DEL and C1 as they are.
func escape(b []byte) []byte {
	const del, lead, first, last = 0x7f, 0xc2, 0x80, 0x9f // C1 in UTF-8 is C2 80 to C2 9F
	var out bytes.Buffer
	done := 0
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == del:
			fmt.Fprintf(&out, `%s\u007f`, b[done:i])
			done = i + 1
		case b[i] == lead && i+1 < len(b) && first <= b[i+1] && b[i+1] <= last:
			fmt.Fprintf(&out, `%s\u%04x`, b[done:i], b[i+1])
			i++
			done = i + 1
		}
	}
	if done == 0 {
		return b
	}
	return append(out.Bytes(), b[done:]...)
}
