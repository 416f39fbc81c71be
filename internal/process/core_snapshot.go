package process

import (
	"debug/elf"
	"fmt"
	"slices"

	"github.com/moonlap/moonlap/internal/memory"
)

// snapshot is what of the process's private memory the core has. The file is mapped, not copied.
func (c *Core) snapshot(o SnapshotOptions) (*Snapshot, error) {
	s := &Snapshot{Registers: c.registers, Stopped: true}
	var runs [][]*elf.Prog // segments side by side stay in one piece: an object may span them
	end := uint64(0)
	for _, m := range c.process.Maps {
		i := slices.IndexFunc(c.segments, func(s *elf.Prog) bool { return s.Vaddr == m.Start })
		if i < 0 || !m.private() {
			continue
		}
		g := c.segments[i]
		s.Missing += int64(g.Memsz - g.Filesz)
		if g.Filesz == 0 {
			continue
		}
		if len(runs) == 0 || end != g.Vaddr {
			runs = append(runs, nil)
		}
		end = g.Vaddr + g.Filesz
		runs[len(runs)-1] = append(runs[len(runs)-1], g)
	}
	// What looking at it takes grows with it. A sparse file may claim to be far larger than any memory.
	var total int64
	for _, run := range runs {
		for _, g := range run {
			total += int64(g.Filesz)
		}
	}
	if err := o.Space.Check(total/indexShare + o.Extra); err != nil {
		return nil, fmt.Errorf("the core holds %s of private memory: %w", memory.Size(total), err)
	}
	var parts []Part
	for _, run := range runs {
		part := Part{Address: run[0].Vaddr}
		var pieces []memory.Piece
		for _, g := range run {
			pieces = append(pieces, memory.Piece{Offset: int64(g.Off), Size: int64(g.Filesz)})
		}
		part.Bytes = o.Space.Map(c.file, pieces)
		parts = append(parts, part)
	}
	s.Copy = NewCopy(parts)
	return s, nil
}
