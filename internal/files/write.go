// Package files opens and writes the files that a user names, for a program that may run as root: where somebody else has put a
// link, a pipe or a device in such a place, nothing of the user's or the machine's is written over, read without end, or shown.
package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Modes of new files. A file that is there already, and is ours, keeps its own.
const (
	Private fs.FileMode = 0o600 // what is of a worker: URIs, keys, stacks
	Shared  fs.FileMode = 0o666 // less the umask
)

// Write makes data the contents of the file name: at once, or not at all. A link is replaced and not followed. What is a pipe or
// a device, as /dev/stdout or /dev/null, is written to as it is.
func Write(name string, data []byte, mode fs.FileMode) error {
	f, err := open(name, mode)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err != nil {
		f.discard()
		return err
	}
	return f.Close()
}

// Create makes the file name anew, as [Write] does, for contents that come in pieces: it is there at once, and empty, so that what
// was written is not lost with who writes.
func Create(name string, mode fs.FileMode) (*File, error) {
	f, err := open(name, mode)
	if err != nil {
		return nil, err
	}
	if err := f.publish(); err != nil {
		f.discard()
		return nil, err
	}
	return f, nil
}

const draftPrefix, draftSuffix = ".moonlap-", ".part"

// IsDraft tells of a file's name that [Write] gave it for as long as it was not whole: it is left behind by whom kill -9 ended.
func IsDraft(name string) bool {
	return strings.HasPrefix(name, draftPrefix) && strings.HasSuffix(name, draftSuffix)
}

// A File is one that is being written.
type File struct {
	*os.File
	stream bool     // a pipe or a device: it is neither renamed nor removed
	folder *os.Root // where it will be; nil: it is there
	draft  string   // its name until then
	final  string
}

// Close makes the file whole, on the disk as well.
func (f *File) Close() error {
	if f.stream {
		return f.File.Close()
	}
	err := f.Sync()
	if err == nil {
		err = f.publish()
	}
	if err != nil {
		f.discard()
		return err
	}
	return f.File.Close()
}

// publish gives the file its name.
func (f *File) publish() error {
	if f.folder == nil {
		return nil
	}
	if err := f.folder.Rename(f.draft, f.final); err != nil {
		return err
	}
	f.folder.Close()
	f.folder = nil
	return nil
}

// discard leaves nothing of a file that has no name yet.
func (f *File) discard() {
	f.File.Close()
	if f.folder != nil {
		f.folder.Remove(f.draft)
		f.folder.Close()
	}
}

func open(name string, mode fs.FileMode) (*File, error) {
	if fd := descriptor(name); fd >= 0 {
		copied, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return &File{File: os.NewFile(uintptr(copied), name), stream: true}, nil
	}
	folder, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, named(name, err)
	}
	f, err := openIn(folder, name, mode)
	if err != nil || f.stream {
		folder.Close()
	}
	return f, named(name, err)
}

// named is an error with the name that the user knows.
func named(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) && path.Path != name {
		return &fs.PathError{Op: "open", Path: name, Err: path.Err}
	}
	return err
}

func openIn(folder *os.Root, name string, mode fs.FileMode) (*File, error) {
	final := filepath.Base(name)
	isFolder := &fs.PathError{Op: "write", Path: name, Err: syscall.EISDIR}
	if name == "" || os.IsPathSeparator(name[len(name)-1]) || final == "." || final == ".." {
		return nil, isFolder
	}
	set := false
	there, err := folder.Lstat(final)
	if errors.Is(err, fs.ErrNotExist) {
		there = nil
	} else if err != nil {
		return nil, err
	}
	if there != nil && there.Mode().Type() == fs.ModeSymlink && owner(there) != 0 && owner(there) != os.Geteuid() {
		there = nil // whoever made the link: it is replaced
	} else if there != nil && there.Mode().Type() == fs.ModeSymlink {
		if there, err = os.Stat(name); err != nil || there.Mode().IsRegular() {
			there = nil
		}
	}
	switch {
	case there == nil:
	case there.IsDir():
		return nil, isFolder
	case there.Mode().IsRegular():
		if owner(there) == os.Geteuid() {
			mode, set = there.Mode().Perm(), true
		}
	default:
		return stream(folder, name, there)
	}
	draft := draftPrefix + rand.Text() + draftSuffix
	file, err := folder.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, mode)
	if err != nil {
		return nil, err
	}
	f := &File{File: file, folder: folder, draft: draft, final: final}
	if set {
		if err := file.Chmod(mode); err != nil {
			f.File.Close()
			folder.Remove(draft)
			return nil, err
		}
	}
	return f, nil
}

// stream opens what is no plain file, which there describes. A pipe that somebody else has put into a folder for everybody is
// refused, as the kernel does with fs.protected_fifos: it would hand them what is written.
func stream(folder *os.Root, name string, there fs.FileInfo) (*File, error) {
	if there.Mode()&fs.ModeDevice != 0 && there.Mode()&fs.ModeCharDevice == 0 {
		return nil, fmt.Errorf("%s is a disk: name a file", name)
	}
	around, err := folder.Stat(".")
	if err != nil {
		return nil, err
	}
	if around.Mode()&fs.ModeSticky != 0 && around.Mode().Perm()&0o022 != 0 && !of(there, os.Geteuid(), owner(around)) {
		return nil, fmt.Errorf("%s is a pipe or a device of user %d in a folder that everybody may write to: name another file", name, owner(there))
	}
	file, err := os.OpenFile(name, os.O_WRONLY|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	if opened, err := file.Stat(); err != nil || !os.SameFile(opened, there) {
		file.Close()
		return nil, fmt.Errorf("%s is no longer what it was: %w", name, errors.Join(err, os.ErrInvalid))
	}
	return &File{File: file, stream: true}, nil
}

// descriptor is the number of the file that is open already and that name is another name of; -1: none.
func descriptor(name string) int {
	switch name = filepath.Clean(name); name {
	case "/dev/stdin":
		return 0
	case "/dev/stdout":
		return 1
	case "/dev/stderr":
		return 2
	}
	for _, folder := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if rest, ok := strings.CutPrefix(name, folder); ok {
			if fd, err := strconv.ParseUint(rest, 10, 20); err == nil {
				return int(fd)
			}
		}
	}
	return -1
}

// owner is the user that a file is of; -1 where that is not known.
func owner(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return -1
}

func of(info fs.FileInfo, users ...int) bool {
	for _, user := range users {
		if owner(info) == user {
			return true
		}
	}
	return false
}
