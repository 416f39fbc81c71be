package process

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A Core is a process as its core file has it: what the kernel or gcore wrote when it ended, or at some
// moment of its life (core(5)).
type Core struct {
	Path   string
	Signal syscall.Signal // that ended it; 0: none

	name, title string // as ps shows them
	root        string // folder under which the files are that it had mapped; "": they are where they were
	registers   Registers
	file        *os.File
	segments    []*elf.Prog // those in memory, sorted by address
	process     *Process
}

// Errors of a core: what is none, and one whose process had files mapped that are not here.
var (
	ErrNotCore = errors.New("not a core file")
	ErrFiles   = errors.New("the core is of no use without the files that its process had mapped; --root FOLDER says where they are")
)

// IsCore reports whether a file begins as a core file does.
func IsCore(path string) bool {
	f, err := plainFile(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 18)
	_, err = io.ReadFull(f, head)
	return err == nil && bytes.HasPrefix(head, []byte(elf.ELFMAG)) && elf.Type(head[16]) == elf.ET_CORE
}

// plainFile opens a plain file. A core comes from anywhere, and may name devices, and pipes that are waited for without an end.
func plainFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no plain file", path)
	}
	return os.Open(path)
}

// OpenCore opens a core file of a process on Linux on x86-64, which then can be looked at as one that
// stands still. What the core leaves out of the mapped files is read from them, in the folder root, if it
// is not "", as it would be in /. Close it afterwards.
func OpenCore(path, root string) (*Process, error) {
	f, err := plainFile(path)
	if err != nil {
		return nil, err
	}
	c := &Core{Path: path, root: root, file: f}
	c.process = &Process{objects: map[file]*Object{}, mem: c, Core: c}
	if err := c.read(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c.process, nil
}

func (c *Core) read() error {
	if !IsCore(c.Path) {
		return ErrNotCore
	}
	file, err := elf.NewFile(c.file)
	if err != nil {
		return fmt.Errorf("the core is cut off or corrupt: %w", err)
	}
	if file.Type != elf.ET_CORE || file.Machine != elf.EM_X86_64 || file.Class != elf.ELFCLASS64 {
		return fmt.Errorf("%w of x86-64, but %v of %v", ErrNotCore, file.Type, file.Machine)
	}
	info, err := c.file.Stat()
	if err != nil {
		return err
	}
	var notes notes
	for _, s := range file.Progs {
		if end := s.Off + s.Filesz; end > uint64(info.Size()) || end < s.Off {
			return fmt.Errorf("the core is cut off: it has %d of at least %d bytes; was the limit (ulimit -c) too low, or the disk full?", info.Size(), end)
		}
		switch s.Type {
		case elf.PT_NOTE:
			if err := notes.read(s); err != nil {
				return err
			}
		case elf.PT_LOAD:
			if s.Filesz > s.Memsz || s.Vaddr+s.Memsz < s.Vaddr {
				return fmt.Errorf("the core is corrupt: the segment at %#x ends before it begins", s.Vaddr)
			}
			c.segments = append(c.segments, s)
		}
	}
	slices.SortFunc(c.segments, func(a, b *elf.Prog) int { return cmp.Compare(a.Vaddr, b.Vaddr) })
	if len(c.segments) == 0 || !notes.thread {
		return errors.New("the core is corrupt: it holds no memory, or no registers")
	}
	c.process.PID, c.name, c.title = notes.pid, notes.name, notes.title
	c.Signal, c.registers = notes.signal, notes.registers
	c.process.Maps = c.maps(notes)
	return nil
}

// maps makes of segments and notes what /proc/PID/maps would say.
func (c *Core) maps(n notes) []Mapping {
	var all []Mapping
	mapped := map[uint64]Mapping{} // of files, by start
	for _, m := range n.files {
		mapped[m.Start] = m
	}
	for _, s := range c.segments {
		m := Mapping{Start: s.Vaddr, End: s.Vaddr + s.Memsz}
		if of, ok := mapped[s.Vaddr]; ok && of.End == m.End {
			m = of
			delete(mapped, s.Vaddr)
		}
		m.Executable, m.Writable = s.Flags&elf.PF_X != 0, s.Flags&elf.PF_W != 0
		switch {
		case m.Start <= n.registers.RSP && n.registers.RSP < m.End:
			m.Path = "[stack]"
		case m.Start == n.vdso:
			m.Path = vdso
		}
		if m.Start < m.End {
			all = append(all, m)
		}
	}
	for _, m := range mapped { // gcore leaves out what is in a file alone, such as code
		m.Executable = true
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Mapping) int { return cmp.Compare(a.Start, b.Start) })
	return all
}

// ReadAt reads memory: what the core leaves out, from the mapped files.
func (c *Core) ReadAt(b []byte, address int64) (n int, err error) {
	for n < len(b) {
		at := uint64(address) + uint64(n)
		i, found := slices.BinarySearchFunc(c.segments, at, func(s *elf.Prog, a uint64) int { return cmp.Compare(s.Vaddr, a) })
		if !found {
			i--
		}
		read := 0
		if i >= 0 && at-c.segments[i].Vaddr < c.segments[i].Filesz {
			s := c.segments[i]
			read, err = s.ReaderAt.ReadAt(b[n:min(uint64(len(b)), uint64(n)+s.Filesz-(at-s.Vaddr))], int64(at-s.Vaddr))
		} else {
			read, err = c.readMapped(b[n:], at)
		}
		if n += read; read == 0 {
			return n, cmp.Or(err, error(syscall.EFAULT))
		}
	}
	return n, nil
}

func (c *Core) readMapped(b []byte, at uint64) (int, error) {
	m, ok := c.process.Mapped(at)
	if !ok || m.Inode == 0 {
		return 0, fmt.Errorf("%w: it is not in the core", syscall.EFAULT)
	}
	o, err := c.process.object(m)
	if err != nil {
		return 0, err
	}
	n, err := o.file.ReadAt(b[:min(uint64(len(b)), m.End-at)], int64(m.Offset+at-m.Start))
	if n > 0 {
		err = nil // the rest is in another mapping
	}
	return n, err
}

// Close implements io.Closer.
func (c *Core) Close() error { return c.file.Close() }

// open opens a file that was mapped, if it is the same still: the core has its first page.
func (c *Core) open(m Mapping) (elfFile, error) {
	f, err := plainFile(c.path(m.Path))
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.process.Maps, func(o Mapping) bool { return o.Path == m.Path && o.Offset == 0 })
	if i < 0 {
		return f, nil
	}
	then, now := make([]byte, 1024), make([]byte, 1024) // its headers, and mostly the build ID
	j := slices.IndexFunc(c.segments, func(s *elf.Prog) bool { return s.Vaddr == c.process.Maps[i].Start && s.Filesz >= 1024 })
	if j < 0 {
		return f, nil // the core does not have it
	}
	if _, err := c.segments[j].ReaderAt.ReadAt(then, 0); err == nil {
		if _, err = f.ReadAt(now, 0); err != nil || !bytes.Equal(then, now) {
			f.Close()
			return nil, fmt.Errorf("%s is another file than the one that was mapped", c.path(m.Path))
		}
	}
	return f, nil
}

// inside is the root that a file is in, and its path there. A core does not tell the process's current folder: it is ours.
func (c *Core) inside(path string) (root, inside string) {
	if c.root != "" && filepath.IsAbs(path) {
		return c.root, strings.TrimSuffix(path, " (deleted)")
	}
	if here, err := filepath.Abs(path); err == nil {
		path = here
	}
	return "/", path
}

func (c *Core) path(path string) string {
	if c.root == "" || !filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.root, strings.TrimSuffix(path, " (deleted)"))
}
