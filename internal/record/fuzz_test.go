package record

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzRead: no input makes Read panic, and what it makes of an input it can write
// and read again.
func FuzzRead(f *testing.F) {
	whole := lines(runLine, caseLine, processLine, batchesLine, endLine)
	f.Add([]byte(whole))
	f.Add([]byte(whole[:len(whole)/2]))
	f.Add([]byte(lines(runLine, `{"type":"moon"}`, `{"type":"fault","case":-1,"kind":"error","text":"x"}`)))
	f.Add([]byte(`{"type":"run","type":"case"}`))
	f.Add([]byte("{\"type\":\"run\",\"schema\":\"moonlap/1\",\"environment\":null}\n\x00\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		rec, err := Read(bytes.NewReader(in), "fuzz")
		if rec == nil {
			t.Fatal("no record")
		}
		var format *FormatError
		if err != nil && !errors.As(err, &format) {
			t.Fatalf("error %v is no FormatError", err)
		}
		if rec.Complete() && err != nil {
			t.Fatalf("complete in spite of %v", err)
		}
		r := NewReader(bytes.NewReader(in), "fuzz")
		for {
			l, err := r.Next()
			if err != nil {
				break
			}
			b, err := EncodeLine(l)
			if err != nil {
				t.Fatalf("a line that was read cannot be written: %v", err)
			}
			if _, err := DecodeLine(b); err != nil {
				t.Fatalf("a line that was written cannot be read: %v", err)
			}
		}
	})
}
