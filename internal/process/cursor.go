package process

import (
	"bytes"
	"encoding/binary"
)

// A cursor reads .eh_frame. Reading past the end sets bad and returns zeros.
type cursor struct {
	data []byte
	pos  int
	base uint64 // address in memory of data[0]
	bad  bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.data)-c.pos {
		c.bad, c.pos = true, len(c.data)
		return make([]byte, 8) // enough for any number
	}
	c.pos += n
	return c.data[c.pos-n : c.pos]
}

func (c *cursor) done() bool   { return c.pos >= len(c.data) }
func (c *cursor) rest() []byte { return c.take(len(c.data) - c.pos) }
func (c *cursor) skip(n int)   { c.take(n) }
func (c *cursor) u8() byte     { return c.take(1)[0] }
func (c *cursor) u16() uint16  { return binary.LittleEndian.Uint16(c.take(2)) }
func (c *cursor) u32() uint32  { return binary.LittleEndian.Uint32(c.take(4)) }
func (c *cursor) u64() uint64  { return binary.LittleEndian.Uint64(c.take(8)) }

func (c *cursor) text() string {
	end := bytes.IndexByte(c.data[c.pos:], 0)
	if end < 0 {
		c.bad, c.pos = true, len(c.data)
		return ""
	}
	b := c.take(end + 1)
	return string(b[:end])
}

// uleb reads an unsigned LEB128 number.
func (c *cursor) uleb() uint64 {
	var n uint64
	for shift := uint(0); shift < 64; shift += 7 {
		b := c.u8()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	c.bad = true
	return 0
}

// sleb reads a signed LEB128 number.
func (c *cursor) sleb() int64 {
	var n int64
	for shift := uint(0); shift < 64; {
		b := c.u8()
		n |= int64(b&0x7f) << shift
		shift += 7
		if b < 0x80 {
			if b&0x40 != 0 && shift < 64 {
				n |= -1 << shift
			}
			return n
		}
	}
	c.bad = true
	return 0
}

// pointer reads a pointer in one of the encodings of exception tables (DW_EH_PE_…).
func (c *cursor) pointer(encoding byte) uint64 {
	at := c.base + uint64(c.pos)
	var n uint64
	switch encoding & 0x0f {
	case 0x00, 0x04, 0x0c:
		n = c.u64()
	case 0x01:
		n = c.uleb()
	case 0x02:
		n = uint64(c.u16())
	case 0x03:
		n = uint64(c.u32())
	case 0x09:
		n = uint64(c.sleb())
	case 0x0a:
		n = uint64(int16(c.u16()))
	case 0x0b:
		n = uint64(int32(c.u32()))
	default:
		c.bad = true
	}
	switch encoding & 0x70 {
	case 0x00: // absolute
	case 0x10: // relative to where it stands
		n += at
	default:
		c.bad = true
	}
	return n
}
