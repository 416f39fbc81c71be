package record

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A record is read the same compressed or not, and a compressed one that is cut off tells
// what stands before.
func TestReadFileCompressed(t *testing.T) {
	text := []byte(`{"type":"run","schema":"moonlap/1","kind":"bench","args":[]}` + "\n" +
		`{"type":"case","case":0,"name":"a","benchmark":"a","index":0}` + "\n" +
		`{"type":"end","reason":"complete"}` + "\n")
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(text)
	w.Close()
	folder := t.TempDir()
	read := func(name string, b []byte) (*Record, error) {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return ReadFile(path)
	}
	plain, err := read("plain", text)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read("packed", packed.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(plain, got); diff != "" {
		t.Error(diff)
	}
	if rec, err := read("cut", packed.Bytes()[:packed.Len()-12]); err == nil || rec.Complete() {
		t.Errorf("a cut record is read as whole: %v", err)
	}
	if _, err := read("head", packed.Bytes()[:5]); err == nil {
		t.Error("a cut head is no error")
	}
}
