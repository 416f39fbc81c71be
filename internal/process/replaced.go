package process

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openUnreplaced opens a mapped file by its path, which may lead to another one by now. An overlay of file systems may number
// one file in two ways.
func (p *Process) openUnreplaced(m Mapping) (elfFile, error) {
	f, err := p.OpenInside(m.Path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Sys().(*syscall.Stat_t).Ino != m.Inode && !onOverlay(f) {
		err = fmt.Errorf("%s: this is not the file that is mapped, which was replaced: run as root, who may open that, or restart the process", m.Path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func onOverlay(f *os.File) bool {
	var s unix.Statfs_t
	return unix.Fstatfs(int(f.Fd()), &s) == nil && s.Type == unix.OVERLAYFS_SUPER_MAGIC
}

// writtenAt is when a file was written to last; zero where it is no file.
func writtenAt(f elfFile) time.Time {
	if f, ok := f.(*os.File); ok {
		if info, err := f.Stat(); err == nil {
			return info.ModTime()
		}
	}
	return time.Time{}
}
