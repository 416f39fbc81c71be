package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// ErrNoFile is the error of a name that is none of a plain file.
var ErrNoFile = errors.New("no plain file")

// OpenInside opens a plain file of the process's own root, or of its current folder, for reading. The name may come from the
// process itself, and we may be root where it is not. So links lead nowhere outside of its root and through no /proc/PID/fd, and
// what the name leads to is opened only when it is known to be neither a device nor a pipe.
func (p *Process) OpenInside(path string) (*os.File, error) {
	root, inside := p.file("root"), path
	if p.Core != nil {
		root, inside = p.Core.inside(path)
	} else if !filepath.IsAbs(path) {
		folder, err := os.Readlink(p.file("cwd"))
		if err != nil {
			return nil, p.explain(err)
		}
		inside = filepath.Join(folder, path)
	}
	return openInside(root, inside)
}

// openInside opens the plain file path below root, which is / for links, too.
func openInside(root, path string) (*os.File, error) {
	fail := func(err error) (*os.File, error) { return nil, &os.PathError{Op: "open", Path: path, Err: err} }
	folder, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	defer unix.Close(folder)
	place, err := unix.Openat2(folder, path, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return fail(err)
	}
	defer unix.Close(place)
	f, err := openPlain(place)
	if err != nil {
		return fail(err)
	}
	return f, nil
}

// openMappedFile opens what /proc/PID/map_files names.
func openMappedFile(path string) (*os.File, error) {
	place, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(place)
	f, err := openPlain(place)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return f, nil
}

// openPlain opens the file that O_PATH holds, which cannot become another one by now: opening a device may do something, and
// reading a pipe, or a file that the kernel makes up, may never end.
func openPlain(place int) (*os.File, error) {
	var s unix.Stat_t
	var on unix.Statfs_t
	if err := errors.Join(unix.Fstat(place, &s), unix.Fstatfs(place, &on)); err != nil {
		return nil, err
	}
	if s.Mode&unix.S_IFMT != unix.S_IFREG || slices.Contains(kernels, on.Type) {
		return nil, ErrNoFile
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", place), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), fmt.Sprintf("/proc/self/fd/%d", fd)), nil
}

// kernels are the file systems whose files are the kernel's own.
var kernels = []int64{
	unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.BPF_FS_MAGIC,
	unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.PSTOREFS_MAGIC, unix.EFIVARFS_MAGIC,
}
