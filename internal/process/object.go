package process

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// An Object is an ELF file, the program or a library, as it is mapped into a process.
type Object struct {
	Path string // as the process sees it
	Bias uint64 // what is added to an address of the file to get the address in memory
	ELF  *elf.File

	file    elfFile
	written time.Time    // when file was written to last, as it was opened; zero: it is no file
	symbols []elf.Symbol // functions and data that it exports, sorted by address
	byName  map[string]elf.Symbol

	once      sync.Once // reads functions
	functions []Function
}

// vdso is code of the kernel's in every process, which tells the time. It is an ELF file that lies in
// memory alone.
const vdso = "[vdso]"

// A file tells mapped files apart: one may be replaced by another of its name while it is mapped.
type file struct {
	path, device string
	inode        uint64
}

type elfFile interface {
	io.ReaderAt
	io.Closer
}

// inMemory is a file that needs no closing.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// ObjectAt returns the object whose code or data is at the address.
func (p *Process) ObjectAt(address uint64) (*Object, error) {
	m, ok := p.Mapped(address)
	if !ok || !strings.HasPrefix(m.Path, "/") && m.Path != vdso {
		return nil, fmt.Errorf("no file is mapped at %#x", address)
	}
	return p.object(m)
}

// ErrNotExported is the error of a process none of whose files exports what is looked for.
var ErrNotExported = errors.New("no program or library of it exports")

// FindObject returns the first object that exports every symbol. Its error is [ErrNotExported] only where all
// files of the process could be read.
func (p *Process) FindObject(symbols ...string) (*Object, error) {
	seen := map[string]bool{}
	var missing []error // it may be in one of these
	for _, m := range p.Maps {
		if !m.Executable || !strings.HasPrefix(m.Path, "/") || seen[m.Path] {
			continue
		}
		seen[m.Path] = true
		o, err := p.object(m)
		if err != nil {
			// What is mapped for execution need not be an ELF file.
			if errno := syscall.Errno(0); p.Core != nil || errors.As(err, &errno) {
				missing = append(missing, err)
			}
			continue
		}
		if !slices.ContainsFunc(symbols, func(s string) bool { _, ok := o.byName[s]; return !ok }) {
			return o, nil
		}
	}
	if len(missing) == 0 {
		return nil, fmt.Errorf("process %d: %w %s", p.PID, ErrNotExported, strings.Join(symbols, " and "))
	}
	err := missing[0]
	if more := len(missing) - 1; more > 0 {
		err = fmt.Errorf("%w, and %d more", err, more)
	}
	if p.Core != nil {
		return nil, fmt.Errorf("%w: %w", ErrFiles, err)
	}
	return nil, fmt.Errorf("a file of process %d cannot be read: %w", p.PID, err)
}

func (p *Process) object(m Mapping) (*Object, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	key := file{m.Path, m.Device, m.Inode}
	if o, ok := p.objects[key]; ok {
		return o, nil
	}
	f, err := p.openMapped(m)
	if err != nil {
		return nil, err
	}
	written := writtenAt(f)
	o, err := newObject(f, m)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", m.Path, err)
	}
	o.written = written
	p.objects[key] = o
	return o, nil
}

// openMapped opens the very file that is mapped, also when it has been replaced since, and in the
// process's own root; /proc/PID/map_files needs privileges that /proc/PID/root does not.
func (p *Process) openMapped(m Mapping) (elfFile, error) {
	if m.Path == vdso {
		const most = 1 << 16
		b := make([]byte, min(m.End-m.Start, most))
		return inMemory{bytes.NewReader(b)}, p.ReadAt(b, m.Start)
	}
	if p.Core != nil {
		return p.Core.open(m)
	}
	f, err := openMappedFile(fmt.Sprintf("/proc/%d/map_files/%x-%x", p.PID, m.Start, m.End))
	if err == nil || m.Deleted() {
		return f, err
	}
	return p.openUnreplaced(m)
}

// OpenObject opens a program or library as a file, as if it were mapped at its own addresses.
func OpenObject(path string) (*Object, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	o, err := readObject(f, path)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return o, nil
}

// Close closes the file of an object from OpenObject; a process closes its own.
func (o *Object) Close() error { return o.file.Close() }

func newObject(f elfFile, m Mapping) (*Object, error) {
	o, err := readObject(f, m.Path)
	if err != nil {
		return nil, err
	}
	// The segment whose bytes the mapping shows tells the bias; pages are 4 KiB or larger.
	const page = 1<<12 - 1
	found := false
	for _, s := range o.ELF.Progs {
		if s.Type == elf.PT_LOAD && m.Offset >= s.Off&^page && m.Offset < s.Off+s.Filesz {
			o.Bias, found = m.Start-m.Offset-(s.Vaddr-s.Off), true
		}
	}
	if !found {
		return nil, fmt.Errorf("no segment of it is mapped at %#x", m.Start)
	}
	return o, nil
}

func readObject(f elfFile, path string) (*Object, error) {
	file, err := elf.NewFile(f)
	if err != nil {
		return nil, err
	}
	o := &Object{Path: path, ELF: file, file: f, byName: map[string]elf.Symbol{}}
	symbols, err := file.DynamicSymbols()
	if err != nil && len(file.Progs) == 0 {
		return nil, err
	}
	// A file that is not stripped knows its static functions too.
	static, _ := file.Symbols()
	for _, s := range append(symbols, static...) {
		kind := elf.ST_TYPE(s.Info)
		if s.Section == elf.SHN_UNDEF || kind != elf.STT_FUNC && kind != elf.STT_OBJECT {
			continue
		}
		if _, ok := o.byName[s.Name]; !ok {
			o.byName[s.Name] = s
		}
		if kind == elf.STT_FUNC {
			o.symbols = append(o.symbols, s)
		}
	}
	slices.SortStableFunc(o.symbols, func(a, b elf.Symbol) int { return cmp.Compare(a.Value, b.Value) })
	return o, nil
}

// Name is the file's name without its folder.
func (o *Object) Name() string { return strings.TrimSuffix(filepath.Base(o.Path), " (deleted)") }

// BuildID is what the linker wrote into the file to tell builds apart, in hexadecimal digits; "" where
// it has none.
func (o *Object) BuildID() string {
	note := o.ELF.Section(".note.gnu.build-id")
	if note == nil {
		return ""
	}
	b, err := note.Data()
	const header = 16 // lengths, type, "GNU"
	if err != nil || len(b) <= header {
		return ""
	}
	return hex.EncodeToString(b[header:])
}

// Symbol returns the address in memory of an exported function or variable, and its size in bytes.
func (o *Object) Symbol(name string) (address, size uint64, ok bool) {
	s, ok := o.byName[name]
	return s.Value + o.Bias, s.Size, ok
}

// Code returns the machine code of an exported function, from the file, and its address in memory.
func (o *Object) Code(name string) (code []byte, address uint64, err error) {
	s, ok := o.byName[name]
	if !ok {
		return nil, 0, fmt.Errorf("%s does not export %s", o.Path, name)
	}
	for _, p := range o.ELF.Progs {
		if p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value+s.Size <= p.Vaddr+p.Filesz {
			code = make([]byte, s.Size)
			if _, err := p.ReadAt(code, int64(s.Value-p.Vaddr)); err != nil {
				return nil, 0, fmt.Errorf("%s: %s: %w", o.Path, name, err)
			}
			return code, s.Value + o.Bias, nil
		}
	}
	return nil, 0, fmt.Errorf("%s: %s is in no segment", o.Path, name)
}

// Function names the function at an address in memory, where its symbol is known; offset is the
// distance from its first byte.
func (o *Object) Function(address uint64) (name string, offset uint64, ok bool) {
	at := address - o.Bias
	i, exact := slices.BinarySearchFunc(o.symbols, at, func(s elf.Symbol, a uint64) int { return cmp.Compare(s.Value, a) })
	if !exact {
		i--
	}
	if i < 0 || at >= o.symbols[i].Value+max(o.symbols[i].Size, 1) {
		return "", 0, false
	}
	return o.symbols[i].Name, at - o.symbols[i].Value, true
}

// Start is the address in memory where the function that holds the address begins, as .eh_frame has
// it; the address itself where nothing is known.
func (o *Object) Start(address uint64) uint64 {
	if f, ok := o.frameAt(address); ok {
		return f.From
	}
	return address
}
