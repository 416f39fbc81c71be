package processtest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"

	"github.com/moonlap/moonlap/internal/process"
)

// A Core is what a core file is made of, for tests: a real one takes a kernel that is told to write it.
type Core struct {
	PID         int
	Name, Title string
	Signal      int
	Registers   process.Registers
	Maps        []process.Mapping
	Bytes       map[uint64][]byte // by the start of a mapping: what the core has of it, from there on
}

// File is the core file.
func (c Core) File() []byte {
	le := binary.LittleEndian
	status := make([]byte, 336)
	le.PutUint16(status[12:], uint16(c.Signal))
	le.PutUint32(status[32:], uint32(c.PID))
	r := c.Registers
	for n, value := range map[int]uint64{0: r.R15, 1: r.R14, 2: r.R13, 3: r.R12, 4: r.RBP, 5: r.RBX, 12: r.RDX, 16: r.RIP, 19: r.RSP} {
		le.PutUint64(status[112+8*n:], value)
	}
	info := make([]byte, 136)
	le.PutUint32(info[24:], uint32(c.PID))
	copy(info[40:55], c.Name)
	copy(info[56:135], c.Title)
	var notes bytes.Buffer
	for _, n := range []struct {
		kind uint32
		data []byte
	}{{1, status}, {3, info}, {0x46494c45, c.files()}} {
		notes.Write(le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, 5), uint32(len(n.data))), n.kind))
		notes.WriteString("CORE\x00\x00\x00\x00")
		notes.Write(n.data)
		notes.Write(make([]byte, -len(n.data)&3))
	}

	var head, body bytes.Buffer
	const header, entry = 64, 56
	at := uint64(header + entry*(len(c.Maps)+1))
	ident := [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1}
	binary.Write(&head, le, elf.Header64{
		Ident: ident, Type: uint16(elf.ET_CORE), Machine: uint16(elf.EM_X86_64), Version: 1,
		Phoff: header, Ehsize: header, Phentsize: entry, Phnum: uint16(len(c.Maps) + 1),
	})
	add := func(p elf.Prog64, data []byte) {
		p.Off, p.Filesz = at+uint64(body.Len()), uint64(len(data))
		binary.Write(&head, le, p)
		body.Write(data)
	}
	add(elf.Prog64{Type: uint32(elf.PT_NOTE)}, notes.Bytes())
	for _, m := range c.Maps {
		flags := elf.PF_R
		if m.Writable {
			flags |= elf.PF_W
		}
		if m.Executable {
			flags |= elf.PF_X
		}
		add(elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(flags), Vaddr: m.Start, Memsz: m.End - m.Start}, c.Bytes[m.Start])
	}
	return append(head.Bytes(), body.Bytes()...)
}

// files is the note that tells which files were mapped.
func (c Core) files() []byte {
	le := binary.LittleEndian
	var numbers, names []byte
	count := uint64(0)
	for _, m := range c.Maps {
		if m.Inode == 0 {
			continue
		}
		count++
		numbers = le.AppendUint64(le.AppendUint64(le.AppendUint64(numbers, m.Start), m.End), m.Offset/4096)
		names = append(append(names, m.Path...), 0)
	}
	return append(le.AppendUint64(le.AppendUint64(nil, count), 4096), append(numbers, names...)...)
}
