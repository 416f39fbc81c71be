package record

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"
)

// FuzzInflate: a record that may be packed is read in bounds, whatever is in it.
func FuzzInflate(f *testing.F) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(bytes.Repeat([]byte("0,"), 10<<20))
	z.Close()
	f.Add(packed.Bytes())
	f.Add([]byte("\x1f\x8b"))
	f.Add([]byte(`{"type":"run"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Inflate(bytes.NewReader(b), "r")
		if err != nil {
			return
		}
		if n, _ := io.Copy(io.Discard, r); n > freeRatio+mostRatio*int64(len(b)+32<<10) {
			t.Fatalf("%d bytes became %d", len(b), n)
		}
	})
}
