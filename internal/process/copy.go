package process

import (
	"cmp"
	"fmt"
	"slices"
)

// A Copy is memory of a process as it was at a moment, or while it was read.
type Copy struct {
	parts []Part // sorted by address, not overlapping
	last  int    // part that was seen last
}

// A Part is a run of bytes that was copied.
type Part struct {
	Address uint64
	Bytes   []byte
}

func (p Part) end() uint64 { return p.Address + uint64(len(p.Bytes)) }

// NewCopy makes a copy of parts that do not overlap.
func NewCopy(parts []Part) *Copy {
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b Part) int { return cmp.Compare(a.Address, b.Address) })
	return &Copy{parts: parts}
}

// Parts are the copied runs, sorted by address.
func (c *Copy) Parts() []Part { return c.parts }

// Size is the number of bytes that were copied.
func (c *Copy) Size() (n int64) {
	for _, p := range c.parts {
		n += int64(len(p.Bytes))
	}
	return n
}

// View returns n bytes of the copy, which are not to be changed, or nil where they were not copied.
// It is for one goroutine at a time.
func (c *Copy) View(address uint64, n int) []byte {
	if n < 0 {
		return nil
	}
	i := c.last
	if i >= len(c.parts) || address < c.parts[i].Address || address >= c.parts[i].end() {
		i = c.find(address)
		if i < 0 {
			return nil
		}
		c.last = i
	}
	p := c.parts[i]
	at := address - p.Address
	if uint64(n) > uint64(len(p.Bytes))-at {
		return nil
	}
	return p.Bytes[at : at+uint64(n) : at+uint64(n)]
}

// Rest is what was copied behind an address in one run, at most N bytes.
func (c *Copy) Rest(address uint64, most int) []byte {
	i := c.find(address)
	if i < 0 {
		return nil
	}
	b := c.parts[i].Bytes[address-c.parts[i].Address:]
	return b[:min(most, len(b))]
}

// find returns the part of an address, or -1.
func (c *Copy) find(address uint64) int {
	i, found := slices.BinarySearchFunc(c.parts, address, func(p Part, a uint64) int { return cmp.Compare(p.Address, a) })
	if !found {
		i--
	}
	if i < 0 || address >= c.parts[i].end() {
		return -1
	}
	return i
}

// ReadAt implements Memory.
func (c *Copy) ReadAt(b []byte, address uint64) error {
	v := c.View(address, len(b))
	if v == nil {
		return fmt.Errorf("%d bytes at %#x were not copied", len(b), address)
	}
	copy(b, v)
	return nil
}
