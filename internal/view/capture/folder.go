package capture

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/moonlap/moonlap/internal/evidence"
	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/ui"
)

// Files are what a capture is written as.
const (
	summaryFile = "summary.txt"
	graphFile   = "flame.html"
	profileFile = "profile.json"
)

// part begins the name of a folder that is not whole yet.
const part = ".part-"

// Name is the name of the capture's folder: when, which worker, what.
func (c *Capture) Name() string {
	condition, _ := Parse(c.Condition)
	return fmt.Sprintf("%s-%d-%s", c.At.Format("20060102T150405.000Z"), c.PID, condition.What)
}

// full reports whether the folder has as many captures as there is room for, and says so when that begins. The gate calls it, one
// event at a time.
func (c *capturer) full() bool {
	if c.Room == 0 {
		return false
	}
	entries, err := os.ReadDir(c.Folder)
	whole := slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !e.IsDir() || strings.HasPrefix(e.Name(), ".") })
	was := c.wasFull
	c.wasFull = err == nil && len(whole) >= c.Room
	if c.wasFull && !was {
		c.say("%s holds %d captures, so events are only counted until some are deleted", c.Folder, len(whole))
	}
	return c.wasFull
}

// WriteLine writes the capture as a document of one line, without its stacks.
func (c *Capture) WriteLine(to io.Writer) error {
	p := *c.profile
	p.Stacks = []profile.Stack{}
	return p.WriteDocument(to, "capture")
}

// Write writes the capture and its summary as a folder inside another one, which appears when it is whole; Folder is then its path. Where
// that fails, nothing of it is left.
func (c *Capture) Write(in string) (err error) {
	final := filepath.Join(in, c.Name())
	c.Folder = final
	p := c.profile
	p.Title = fmt.Sprintf("worker %d · %s · %s", c.PID, c.What, c.At.Format(time.DateTime+" UTC"))
	p.Start, p.Evidence = c.At.Add(-p.Duration), evidence.Set{Name: c}
	folder, err := os.OpenRoot(in)
	if err != nil {
		return fmt.Errorf("the capture cannot be written: %w", err)
	}
	defer folder.Close()
	name := part + rand.Text()[:10]
	draft, err := newFolder(folder, name)
	if err != nil {
		return fmt.Errorf("the capture cannot be written: %w", err)
	}
	defer draft.Close()
	defer func() {
		if err != nil {
			err = fmt.Errorf("the capture of %s cannot be written: %w", final, errors.Join(err, folder.RemoveAll(name)))
		}
	}()
	for _, f := range []struct {
		name string
		fill func(*bytes.Buffer) error
	}{
		{summaryFile, func(b *bytes.Buffer) error { return c.Summary(b, ui.Options{Width: 100}) }},
		{graphFile, func(b *bytes.Buffer) error {
			var beside strings.Builder
			err := c.Summary(&beside, ui.Options{Width: ui.MinWidth})
			return errors.Join(err, p.WriteHTML(b, beside.String()))
		}},
		{profileFile, func(b *bytes.Buffer) error { return p.WriteDocument(b, "capture") }},
	} {
		var b bytes.Buffer
		if err := f.fill(&b); err != nil {
			return err
		}
		if err := put(draft, f.name, b.Bytes()); err != nil {
			return err
		}
	}
	return folder.Rename(name, c.Name())
}

// newFolder makes a folder for us alone, and holds on to it: whoever else may write into the one around it may put another one in
// its place, which then stays empty.
func newFolder(in *os.Root, name string) (*os.Root, error) {
	if err := in.Mkdir(name, 0o700); err != nil {
		return nil, err
	}
	folder, err := in.OpenRoot(name)
	if err != nil {
		return nil, errors.Join(err, in.Remove(name))
	}
	info, err := folder.Stat(".")
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != os.Geteuid() {
		return nil, errors.Join(folder.Close(), fmt.Errorf("somebody else has put another folder in the place of %s", name))
	}
	return folder, nil
}

// put writes a file so that it is on the disk: what a capture is of may take the machine with it.
func put(in *os.Root, name string, data []byte) error {
	f, err := in.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, files.Private.Perm())
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
