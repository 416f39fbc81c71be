package process

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// An Interval is a run of addresses, [From, To).
type Interval struct{ From, To uint64 }

// Size is in bytes.
func (i Interval) Size() uint64 { return i.To - i.From }

// Contains reports whether the address is in it.
func (i Interval) Contains(address uint64) bool { return i.From <= address && address < i.To }

// A Function is what .eh_frame, the table for exceptions that every program carries, knows of a
// function: its addresses and how to leave its frame.
type Function struct {
	Interval
	// ConstantFrame is the size in bytes of a frame that the function has from its first to its last
	// instruction, return address included, as only assembly has; else 0.
	ConstantFrame int64

	common  *commonInfo
	program []byte
}

// commonInfo is a CIE: what the entries of several functions share. See "Exception Frames" in the
// Linux Standard Base Core Specification, and the call frame information of DWARF 4, section 6.4.
type commonInfo struct {
	codeAlign, dataAlign int64
	returnRegister       uint64
	pointerEncoding      byte
	augmented, signal    bool
	program              []byte
}

// Functions returns the functions of .eh_frame, sorted by address in memory. Those whose entry makes
// no sense are left out.
func (o *Object) Functions() []Function {
	o.once.Do(func() {
		section := o.ELF.Section(".eh_frame")
		if section == nil || section.Type == elf.SHT_NOBITS {
			return
		}
		data, err := section.Data()
		if err != nil {
			return
		}
		o.functions, _ = parseFrames(data, section.Addr+o.Bias) // as far as they can be read
	})
	return o.functions
}

// frameAt returns the function that holds the address.
func (o *Object) frameAt(address uint64) (Function, bool) {
	all := o.Functions()
	i, exact := slices.BinarySearchFunc(all, address, func(f Function, a uint64) int { return cmp.Compare(f.From, a) })
	if !exact {
		i--
	}
	if i < 0 || !all[i].Contains(address) {
		return Function{}, false
	}
	return all[i], true
}

var errFrames = errors.New("bad .eh_frame")

// parseFrames reads the entries of a section that stands at an address in memory.
func parseFrames(data []byte, at uint64) ([]Function, error) {
	var all []Function
	common := map[int]*commonInfo{} // by offset
	for pos := 0; pos+4 <= len(data); {
		start := pos
		length := int(binary.LittleEndian.Uint32(data[pos:]))
		if length == 0 {
			break // the end mark
		}
		if length > len(data)-pos-4 || length < 4 { // 0xffffffff would begin a 64-bit entry: nobody writes those
			return all, fmt.Errorf("%w: entry at %#x is %d bytes long", errFrames, start, length)
		}
		pos += 4
		e := cursor{data: data[:pos+length], pos: pos, base: at}
		pos += length
		id := int(e.u32())
		if id == 0 {
			c, err := readCommon(&e)
			if err == nil {
				common[start] = c
			}
			continue
		}
		c := common[start+4-id]
		if c == nil {
			continue // its CIE is of a kind that is not understood
		}
		from := e.pointer(c.pointerEncoding)
		size := e.pointer(c.pointerEncoding & 0x0f)
		if c.augmented {
			e.skip(int(e.uleb()))
		}
		if e.bad {
			continue
		}
		f := Function{Interval: Interval{from, from + size}, common: c, program: e.rest()}
		f.ConstantFrame = f.constantFrame()
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Function) int { return cmp.Compare(a.From, b.From) })
	return all, nil
}

func readCommon(e *cursor) (*commonInfo, error) {
	version := e.u8()
	augmentation := e.text()
	if version != 1 && version != 3 {
		return nil, fmt.Errorf("%w: version %d", errFrames, version)
	}
	c := &commonInfo{codeAlign: int64(e.uleb()), dataAlign: e.sleb()}
	if version == 1 {
		c.returnRegister = uint64(e.u8())
	} else {
		c.returnRegister = e.uleb()
	}
	for i, letter := range augmentation {
		switch {
		case i == 0 && letter == 'z':
			c.augmented = true
			e.uleb()
		case c.augmented && letter == 'R':
			c.pointerEncoding = e.u8()
		case c.augmented && letter == 'L':
			e.u8()
		case c.augmented && letter == 'P':
			e.pointer(e.u8())
		case c.augmented && letter == 'S':
			c.signal = true
		default:
			return nil, fmt.Errorf("%w: augmentation %q", errFrames, augmentation)
		}
	}
	c.program = e.rest()
	if e.bad {
		return nil, errFrames
	}
	return c, nil
}
