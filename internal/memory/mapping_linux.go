package memory

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A mapping is memory that Go does not manage: pages of its own, or of a file without a name.
type mapping struct {
	bytes []byte
	file  *os.File // nil: pages of its own
	long  bool     // it is gone through from one end to the other
}

func newMapping(folder string, size int64, long bool) (*mapping, error) {
	m := &mapping{long: long}
	flags, fd := unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE, -1
	if folder != "" {
		var err error
		if m.file, err = nameless(folder); err != nil {
			return nil, err
		}
		if err := allocate(m.file, size); err != nil {
			m.file.Close()
			return nil, err
		}
		flags, fd = unix.MAP_SHARED, int(m.file.Fd())
	}
	var err error
	if m.bytes, err = unix.Mmap(fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, flags); err != nil {
		m.close()
		return nil, os.NewSyscallError("mmap", err)
	}
	m.advise()
	return m, nil
}

// nameless makes a file without a name: O_TMPFILE, or where the file system cannot do that, one whose name is
// removed at once.
func nameless(folder string) (*os.File, error) {
	f, err := os.OpenFile(folder, unix.O_TMPFILE|os.O_RDWR|unix.O_EXCL, 0o600)
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EISDIR) {
		return f, err
	}
	name := filepath.Join(folder, ".moonlap-"+rand.Text())
	if f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600); err != nil {
		return nil, err
	}
	if err := os.Remove(name); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// allocate makes a file so large, with room on the disk for all of it: without, a write to the mapping could end
// the program.
func allocate(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	if !errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	at, err := f.Seek(0, 2)
	zeros := make([]byte, 1<<20)
	for err == nil && at < size {
		var n int
		n, err = f.WriteAt(zeros[:min(size-at, int64(len(zeros)))], at)
		at += int64(n)
	}
	return err
}

// grow makes it larger. What was there may lie elsewhere then.
func (m *mapping) grow(size int64) error {
	if m.file != nil {
		if err := allocate(m.file, size); err != nil {
			return err
		}
	}
	b, err := unix.Mremap(m.bytes, int(size), unix.MREMAP_MAYMOVE)
	if err != nil {
		return os.NewSyscallError("mremap", err)
	}
	m.bytes = b
	m.advise()
	return nil
}

// advise tells the kernel what to read around a page of a file. Where the order is none it is nothing: where memory is short
// each page that nobody needs costs one that somebody does. Else it is what it does for files.
func (m *mapping) advise() {
	switch {
	case m.file == nil:
	case m.long:
		unix.Madvise(m.bytes, unix.MADV_NORMAL)
	default:
		unix.Madvise(m.bytes, unix.MADV_RANDOM)
	}
}

// ahead begins to read a part of a mapping.
func ahead(part []byte) {
	at := unsafe.Pointer(unsafe.SliceData(part))
	before := int(uintptr(at) % uintptr(os.Getpagesize()))
	unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(at, -before)), len(part)+before), unix.MADV_WILLNEED)
}

// write begins to write to the disk what has changed. A small array is left to the kernel: what fits into memory
// beside all others may change again and again.
func (m *mapping) write() {
	const small = 16 << 20
	if m.file != nil && len(m.bytes) > small {
		unix.SyncFileRange(int(m.file.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
	}
}

// drop begins to write a part that has changed, and gives back the memory of the part a window before.
func (m *mapping) drop(from, to int) {
	const window = 16 << 20
	if m.file == nil {
		return
	}
	fd := int(m.file.Fd())
	unix.SyncFileRange(fd, int64(from), int64(to-from), unix.SYNC_FILE_RANGE_WRITE)
	page := os.Getpagesize()
	from, to = max(0, from-window)/page*page, (to-window)/page*page
	if to <= from {
		return
	}
	unix.SyncFileRange(fd, int64(from), int64(to-from), unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
	unix.Madvise(m.bytes[from:to], unix.MADV_DONTNEED)
	unix.Fadvise(fd, int64(from), int64(to-from), unix.FADV_DONTNEED)
}

func (m *mapping) close() (err error) {
	if m.bytes != nil {
		err = unix.Munmap(m.bytes)
		m.bytes = nil
	}
	if m.file != nil {
		err = errors.Join(err, m.file.Close())
		m.file = nil
	}
	return err
}

// checkFolder reports whether N bytes fit into a folder, and whether it is memory itself.
func checkFolder(folder string, size int64) (isMemory bool, err error) {
	info, err := os.Stat(folder)
	if err == nil && !info.IsDir() {
		err = &os.PathError{Op: "open", Path: folder, Err: unix.ENOTDIR}
	}
	if err != nil {
		return false, err
	}
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return false, fmt.Errorf("%s: %w", folder, err)
	}
	if free := int64(s.Bavail) * s.Bsize; size > free && s.Blocks > 0 {
		return false, &FullError{Folder: folder, Needed: size, Free: free}
	}
	return s.Type == unix.TMPFS_MAGIC || s.Type == unix.RAMFS_MAGIC, nil
}

// explain says what stands behind an error of the kernel.
func (s *Space) explain(err error, size int64) error {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		full := &FullError{Folder: s.Folder, Needed: size}
		var st unix.Statfs_t
		if unix.Statfs(s.Folder, &st) == nil {
			full.Free = int64(st.Bavail) * st.Bsize
		}
		return full
	case errors.Is(err, unix.ENOMEM):
		return fmt.Errorf("the kernel gives no %s of memory (%w): is there a limit, such as ulimit -v?", Size(size), err)
	case s.Folder != "":
		return fmt.Errorf("a file in %s: %w", s.Folder, err)
	}
	return err
}

// A Piece is a run of bytes of a file.
type Piece struct{ Offset, Size int64 }

// Map shows pieces of a file one behind the other, without reading them before they are used: the kernel has
// them in the page cache, and takes that back when memory is short. Where the pieces do not begin and end
// with pages, they are copied. To be called within Run, and not to be written to.
func (s *Space) Map(f *os.File, pieces []Piece) []byte {
	page := int64(os.Getpagesize())
	size, aligned := int64(0), s != nil
	for i, p := range pieces {
		aligned = aligned && p.Offset%page == 0 && (p.Size%page == 0 || i == len(pieces)-1)
		size += p.Size
	}
	if !aligned {
		all := Make[byte](s, int(size))
		rest := all
		for _, p := range pieces {
			if _, err := f.ReadAt(rest[:p.Size], p.Offset); err != nil {
				panic(failure{err})
			}
			rest = rest[p.Size:]
		}
		return all
	}
	b, err := unix.Mmap(-1, 0, int(size), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		panic(failure{fmt.Errorf("%s: %w", f.Name(), s.explain(err, size))})
	}
	s.hold(&mapping{bytes: b})
	at := unsafe.Pointer(&b[0])
	for _, p := range pieces {
		if _, err := unix.MmapPtr(int(f.Fd()), p.Offset, at, uintptr(p.Size), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_FIXED); err != nil {
			panic(failure{fmt.Errorf("%s cannot be mapped: %w", f.Name(), err)})
		}
		at = unsafe.Add(at, p.Size)
	}
	return b
}
