// Package process sees another process from outside: its memory, its mapped files and their
// symbols, its registers while it is stopped, and the C frames of its stack. Nothing is written
// into it, and nothing of it needs debug information.
package process

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Memory is what can be read of a process: a live one, or an Image of one.
type Memory interface {
	// ReadAt fills p from the address on, or fails: a part of p is no result.
	ReadAt(p []byte, address uint64) error
}

// ErrLeftOut is the error of reading memory that was not copied, because it was too much or would have taken too long.
var ErrLeftOut = errors.New("not all was copied")

// A Reader reads numbers of a little-endian process. The first failure sticks, in Err, and all
// later reads return 0: a walk of many reads is checked once, at its end. Loops over what was read
// must still be bounded, because memory may be garbage.
type Reader struct {
	Memory Memory
	Err    error
}

// Bytes returns n bytes, or nil after a failure.
func (r *Reader) Bytes(address uint64, n int) []byte {
	if r.Err != nil {
		return nil
	}
	p := make([]byte, n)
	if err := r.Memory.ReadAt(p, address); err != nil {
		r.Err = err
		return nil
	}
	return p
}

// number reads n ≤ 8 bytes as an unsigned number.
func (r *Reader) number(address uint64, n int) uint64 {
	var p [8]byte
	if r.Err != nil {
		return 0
	}
	if err := r.Memory.ReadAt(p[:n], address); err != nil {
		r.Err = err
		return 0
	}
	return binary.LittleEndian.Uint64(p[:])
}

// U8 reads one byte.
func (r *Reader) U8(address uint64) uint8 { return uint8(r.number(address, 1)) }

// U16 reads two bytes.
func (r *Reader) U16(address uint64) uint16 { return uint16(r.number(address, 2)) }

// U32 reads four bytes.
func (r *Reader) U32(address uint64) uint32 { return uint32(r.number(address, 4)) }

// U64 reads eight bytes, as a number or a pointer.
func (r *Reader) U64(address uint64) uint64 { return r.number(address, 8) }

// A fault is memory that could not be read.
type fault struct {
	address uint64
	size    int
	err     error
}

func (f *fault) Error() string {
	return fmt.Sprintf("read %d bytes at %#x: %v", f.size, f.address, f.err)
}

func (f *fault) Unwrap() error { return f.err }
