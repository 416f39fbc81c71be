package fleet

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// mostCarried bounds what travels, in bytes: more is a mistake, such as a home folder.
const mostCarried = 256 << 20

// A Load is the files that travel: those of Folder, whose part Dir is the working folder there as here.
type Load struct {
	Folder, Dir string
	Files       []string // relative to Folder
}

// Carry gathers the files of a run in a working folder: those that git knows or would add where it is in a checkout,
// else all of them; and named files, which git may ignore. With history, git's own folder comes along, for revisions.
func Carry(dir string, named []string, history bool) (Load, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Load{}, err
	}
	l := Load{Folder: dir, Dir: "."}
	if top, err := git(dir, "rev-parse", "--show-toplevel"); err == nil {
		l.Folder = strings.TrimSuffix(top, "\n")
		if l.Dir, err = filepath.Rel(l.Folder, dir); err != nil {
			return l, err
		}
		list, err := git(l.Folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
		if err != nil {
			return l, err
		}
		l.Files = strings.FieldsFunc(list, func(r rune) bool { return r == 0 })
		if history {
			err = l.add(".git")
		}
		if err != nil {
			return l, err
		}
	} else if err := l.add("."); err != nil {
		return l, err
	}
	for _, name := range named {
		path := filepath.Join(dir, name)
		if filepath.IsAbs(name) {
			path = name
		}
		if in, err := filepath.Rel(l.Folder, path); err != nil || !filepath.IsLocal(in) {
			return l, fmt.Errorf("%s is outside of %s, whose files travel to the hosts: run moonlap from a folder that holds it", name, l.Folder)
		} else if err := l.add(in); err != nil {
			return l, err
		}
	}
	slices.Sort(l.Files)
	l.Files = slices.Compact(l.Files)
	return l, nil
}

func git(dir string, args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
	return string(out), err
}

// add adds a file, or all files below a folder.
func (l *Load) add(name string) error {
	return filepath.WalkDir(filepath.Join(l.Folder, name), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		in, err := filepath.Rel(l.Folder, path)
		l.Files = append(l.Files, in)
		return err
	})
}

// Pack writes the files as a compressed archive.
func (l Load) Pack(w io.Writer) error {
	zip := gzip.NewWriter(w)
	archive := tar.NewWriter(zip)
	var size int64
	for _, name := range l.Files {
		info, err := os.Lstat(filepath.Join(l.Folder, name))
		if errors.Is(err, fs.ErrNotExist) { // git still knows it
			continue
		} else if err != nil {
			return err
		}
		if size += info.Size(); size > mostCarried {
			return fmt.Errorf("the files of %s are more than %d MB, too much to send to each host: "+
				"run moonlap from a folder that holds only what the run needs", l.Folder, mostCarried>>20)
		}
		if err := l.pack(archive, name, info); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), zip.Close())
}

func (l Load) pack(archive *tar.Writer, name string, info fs.FileInfo) error {
	path := filepath.Join(l.Folder, name)
	link := ""
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		var err error
		if link, err = os.Readlink(path); err != nil {
			return err
		}
	case !mode.IsRegular(): // sockets, pipes
		return nil
	}
	header, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	header.Name, header.Uname, header.Gname = filepath.ToSlash(name), "", ""
	if err := archive.WriteHeader(header); err != nil || link != "" {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.CopyN(archive, f, info.Size()) // a file that grows stays the size that its header says
	return err
}

// unpack writes the files of an archive below a folder; no name leads out of it.
func unpack(r io.Reader, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	zip, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	for archive := tar.NewReader(zip); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := root.MkdirAll(filepath.Dir(header.Name), 0o700); err != nil {
			return err
		}
		if header.Typeflag == tar.TypeSymlink {
			if err := root.Symlink(header.Linkname, header.Name); err != nil {
				return err
			}
			continue
		}
		f, err := root.OpenFile(header.Name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, fs.FileMode(header.Mode)&0o777|0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, archive)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}
