//go:build !linux

package memory

import "os"

// A mapping is memory of Go's own here.
type mapping struct {
	bytes []byte
	file  *os.File // none
	long  bool
}

func (m *mapping) advise() {}

func newMapping(_ string, size int64, _ bool) (*mapping, error) {
	return &mapping{bytes: make([]byte, size)}, nil
}

func (m *mapping) grow(size int64) error {
	m.bytes = append(make([]byte, 0, size), m.bytes...)[:size]
	return nil
}

func (m *mapping) write() {}

func (m *mapping) drop(int, int) {}

func ahead([]byte) {}

func (m *mapping) close() error { return nil }

func checkFolder(string, int64) (isMemory bool, err error) { return true, nil }

func (s *Space) explain(err error, _ int64) error { return err }

// A Piece is a run of bytes of a file.
type Piece struct{ Offset, Size int64 }

// Map copies pieces of a file one behind the other.
func (s *Space) Map(f *os.File, pieces []Piece) []byte {
	var all []byte
	for _, p := range pieces {
		b := make([]byte, p.Size)
		if _, err := f.ReadAt(b, p.Offset); err != nil {
			panic(failure{err})
		}
		all = append(all, b...)
	}
	return all
}
