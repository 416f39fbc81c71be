package process

import (
	"bytes"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestSnapshotSpans: what spans two mappings side by side, as one made before a fork and one after it are,
// stays in one piece.
func TestSnapshotSpans(t *testing.T) {
	memory, err := unix.Mmap(-1, 0, 2*pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(memory)
	if err := unix.Madvise(memory[pageSize:], unix.MADV_DONTDUMP); err != nil { // the kernel makes two mappings of it
		t.Fatal(err)
	}
	want := []byte("an object that lies in both")
	at := copy(memory[pageSize-8:], want) // its end
	address := uint64(uintptr(unsafe.Pointer(&memory[0]))) + pageSize
	p, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if m, ok := p.Mapped(address); !ok || m.Start != address {
		t.Fatalf("%+v: the kernel has not made two mappings", m)
	}
	s, err := p.Snapshot(SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.View(address-8, at); !bytes.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
