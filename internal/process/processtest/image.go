// Package processtest keeps the memory that a walk has read of a process, and replays it.
package processtest

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/gob"
	"fmt"
	"io"
	"slices"

	"github.com/moonlap/moonlap/internal/process"
)

// An Image is memory kept of a process, as far as it was read: it replays a walk without the
// process, and without a kernel that allows it.
type Image struct {
	Registers process.Registers
	Parts     []Part // sorted by address, not overlapping
	About     []byte // what else its walk needs
}

// A Part is a run of bytes of an image.
type Part struct {
	Address uint64
	Bytes   []byte
}

// ReadAt implements process.Memory.
func (m *Image) ReadAt(b []byte, address uint64) error {
	i, found := slices.BinarySearchFunc(m.Parts, address, func(p Part, a uint64) int { return cmp.Compare(p.Address, a) })
	if !found {
		i--
	}
	if i < 0 || address+uint64(len(b)) > m.Parts[i].Address+uint64(len(m.Parts[i].Bytes)) || address+uint64(len(b)) < address {
		return fmt.Errorf("%d bytes at %#x are not in the image", len(b), address)
	}
	copy(b, m.Parts[i].Bytes[address-m.Parts[i].Address:])
	return nil
}

// A Recorder reads from another Memory and keeps what was read.
type Recorder struct {
	Memory process.Memory
	parts  []Part
}

// ReadAt implements process.Memory.
func (r *Recorder) ReadAt(b []byte, address uint64) error {
	if err := r.Memory.ReadAt(b, address); err != nil {
		return err
	}
	r.parts = append(r.parts, Part{address, slices.Clone(b)})
	return nil
}

// Image returns all that was read so far. What was read twice is there as it was the last time.
func (r *Recorder) Image(registers process.Registers) *Image {
	type run struct{ from, to uint64 }
	var runs []run
	bytes := map[uint64]byte{}
	for _, p := range r.parts {
		runs = append(runs, run{p.Address, p.Address + uint64(len(p.Bytes))})
		for i, b := range p.Bytes {
			bytes[p.Address+uint64(i)] = b
		}
	}
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.from, b.from) })
	m := &Image{Registers: registers}
	for i := 0; i < len(runs); {
		all := runs[i]
		for i++; i < len(runs) && runs[i].from <= all.to; i++ {
			all.to = max(all.to, runs[i].to)
		}
		part := Part{Address: all.from, Bytes: make([]byte, all.to-all.from)}
		for at := range part.Bytes {
			part.Bytes[at] = bytes[all.from+uint64(at)]
		}
		m.Parts = append(m.Parts, part)
	}
	return m
}

// Write writes the image, compressed.
func (m *Image) Write(to io.Writer) error {
	z := gzip.NewWriter(to)
	if err := gob.NewEncoder(z).Encode(m); err != nil {
		return err
	}
	return z.Close()
}

// ReadImage reads what Write wrote.
func ReadImage(from io.Reader) (*Image, error) {
	z, err := gzip.NewReader(bufio.NewReader(from))
	if err != nil {
		return nil, fmt.Errorf("not an image: %w", err)
	}
	m := &Image{}
	if err := gob.NewDecoder(z).Decode(m); err != nil {
		return nil, fmt.Errorf("not an image: %w", err)
	}
	return m, nil
}
