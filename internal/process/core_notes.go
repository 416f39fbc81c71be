package process

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// notes are what a core tells beside memory (Linux: include/uapi/linux/elf.h, elfcore.h).
type notes struct {
	pid         int
	name, title string
	signal      syscall.Signal
	thread      bool // registers of a thread were there
	registers   Registers
	files       []Mapping
	vdso        uint64 // address; 0: not known
}

// Types of notes, and where their fields are on x86-64.
const (
	notePrstatus = 1
	notePrpsinfo = 3
	noteAuxv     = 6
	noteFile     = 0x46494c45

	prstatusSignal    = 12 // pr_cursig
	prstatusPID       = 32
	prstatusRegisters = 112 // user_regs_struct
	prstatusSize      = prstatusRegisters + 27*8
	prpsinfoPID       = 24
	prpsinfoName      = 40
	prpsinfoTitle     = 56
	prpsinfoSize      = 136
	auxvVDSO          = 33 // AT_SYSINFO_EHDR
)

// Places of registers in user_regs_struct.
const (
	regR15, regR14, regR13, regR12, regRBP, regRBX = 0, 1, 2, 3, 4, 5
	regRDX, regRIP, regRSP                         = 12, 16, 19
)

func (n *notes) read(s *elf.Prog) error {
	const most = 64 << 20 // bytes; NT_FILE has some 100 for each mapping
	if s.Filesz > most {
		return fmt.Errorf("the core is corrupt: its notes take %d bytes", s.Filesz)
	}
	b := make([]byte, s.Filesz)
	if _, err := s.ReaderAt.ReadAt(b, 0); err != nil {
		return fmt.Errorf("the core's notes: %w", err)
	}
	main := false // the registers are those of the main thread
	for c := (cursor{data: b}); !c.done(); {
		name, size, kind := int(c.u32()), int(c.u32()), c.u32()
		owner := c.take(align4(name))[:min(name, 8)]
		d := c.take(align4(size))
		if c.bad {
			return errors.New("the core is corrupt: a note ends behind its segment")
		}
		d = d[:size]
		if !bytes.HasPrefix(owner, []byte("CORE")) {
			continue
		}
		switch {
		case kind == notePrstatus && size >= prstatusSize:
			pid := int(binary.LittleEndian.Uint32(d[prstatusPID:]))
			if signal := binary.LittleEndian.Uint16(d[prstatusSignal:]); !n.thread {
				n.signal = syscall.Signal(signal) // the thread that the signal hit comes first
			}
			if !n.thread || pid == n.pid && !main {
				n.registers, main = registersOf(d[prstatusRegisters:]), pid == n.pid
			}
			n.thread = true
			if n.pid == 0 {
				n.pid = pid
			}
		case kind == notePrpsinfo && size >= prpsinfoSize:
			n.pid = int(binary.LittleEndian.Uint32(d[prpsinfoPID:]))
			n.name = untilZero(d[prpsinfoName:prpsinfoTitle])
			n.title = strings.TrimSpace(untilZero(d[prpsinfoTitle:prpsinfoSize]))
		case kind == noteFile:
			if err := n.readFiles(d); err != nil {
				return err
			}
		case kind == noteAuxv:
			for ; len(d) >= 16; d = d[16:] {
				if binary.LittleEndian.Uint64(d) == auxvVDSO {
					n.vdso = binary.LittleEndian.Uint64(d[8:])
				}
			}
		}
	}
	return nil
}

// readFiles reads which files were mapped: their number, the size of a page, three numbers for each, and
// then their names.
func (n *notes) readFiles(d []byte) error {
	c := cursor{data: d}
	count, page := c.u64(), c.u64()
	if count > uint64(len(d))/24 {
		return fmt.Errorf("the core is corrupt: it lists %d mapped files", count)
	}
	for range count {
		m := Mapping{Start: c.u64(), End: c.u64(), Offset: c.u64() * page, Inode: 1} // of some file
		if m.End <= m.Start {
			return fmt.Errorf("the core is corrupt: a file was mapped from %#x to %#x", m.Start, m.End)
		}
		n.files = append(n.files, m)
	}
	for i := range n.files {
		n.files[i].Path = c.text()
	}
	if c.bad {
		return errors.New("the core is corrupt: the list of its mapped files ends too early")
	}
	return nil
}

func registersOf(d []byte) Registers {
	at := func(n int) uint64 { return binary.LittleEndian.Uint64(d[8*n:]) }
	return Registers{
		RIP: at(regRIP), RSP: at(regRSP), RBP: at(regRBP), RBX: at(regRBX), RDX: at(regRDX),
		R12: at(regR12), R13: at(regR13), R14: at(regR14), R15: at(regR15),
	}
}

func align4(n int) int { return (n + 3) &^ 3 }

func untilZero(b []byte) string {
	text, _, _ := bytes.Cut(b, []byte{0})
	return string(text)
}
