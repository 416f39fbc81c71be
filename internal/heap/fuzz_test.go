package heap

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// snapshotFile is a file of one heap with these holders.
func snapshotFile(holders string) string {
	return `{"schema":"moonlap/1","kind":"heap","heaps":[{"pid":1,"holders":` + holders + `}]}`
}

// TestReadDamaged: files that no moonlap wrote are refused, with the place that is wrong.
func TestReadDamaged(t *testing.T) {
	deep := strings.Repeat(`{"inner":[`, 1000) + `{}` + strings.Repeat(`]}`, 1000)
	for want, file := range map[string]string{
		"is null":              snapshotFile(`{"name":"Lua heap","inner":[null]}`),
		"in the holder \"a\"":  snapshotFile(`{"inner":[{"name":"a","inner":[{},null]}]}`),
		"nested deeper":        snapshotFile(deep),
		"has no holders":       snapshotFile(`null`),
		"10001 others":         snapshotFile(`{"inner":[` + strings.Repeat(`{},`, 10_000) + `{}]}`),
		"more than 1048576":    snapshotFile(`{"inner":[` + strings.Repeat(`{},`, 1<<20) + `{}]}`),
		"not a heap snapshot":  `{"schema":`,
		"but kind \"profile\"": `{"schema":"moonlap/1","kind":"profile"}`,
	} {
		if _, err := Read(strings.NewReader(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", file, err, want)
		}
	}
}

// TestReadEndless: a file without an end is refused when so much of it was read that it can be no snapshot.
func TestReadEndless(t *testing.T) {
	read := 0
	_, err := Read(readerFunc(func(b []byte) (int, error) {
		for i := range b {
			b[i] = ' '
		}
		read += len(b)
		return len(b), nil
	}))
	if err == nil || read > 2*mostBytes {
		t.Errorf("%d bytes were read, %v", read, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// FuzzRead: whatever a file holds, it is refused, or all that is done with a snapshot can be done with it.
func FuzzRead(f *testing.F) {
	for _, holders := range []string{
		`null`, `{"inner":[null]}`, `{"name":"Lua heap","held_bytes":9,"inner":[{"name":"a","bytes":9,"held_bytes":9}]}`,
		`{"inner":[{"name":"a","bytes":-1},{"name":"a","bytes":9223372036854775807}]}`,
	} {
		f.Add([]byte(snapshotFile(holders)))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := Read(bytes.NewReader(file))
		if err != nil {
			return
		}
		Compare(s.Holders(), s.Holders())
		compareTypes(s, s)
		s.Profile("fuzz")
		if err := s.Write(io.Discard); err != nil {
			t.Error(err)
		}
	})
}
