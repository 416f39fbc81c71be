package capture

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Files are what a capture is written as.
const (
	SummaryFile = "summary.txt"
	GraphFile   = "flame.html"
	ProfileFile = "profile.json"
)

// part begins the name of a folder that is not whole yet.
const part = ".part-"

// Name is the name of the capture's folder: when, which worker, what.
func (c *Capture) Name() string {
	condition, _ := Parse(c.Condition)
	return fmt.Sprintf("%s-%d-%s", c.At.Format("20060102T150405.000Z"), c.PID, condition.What)
}

// Write writes the capture and its summary as a folder inside another one, which appears when it is whole, and tells its path. Where
// that fails, nothing of it is left.
func (c *Capture) Write(in string, summary func(*bytes.Buffer) error) (err error) {
	final := filepath.Join(in, c.Name())
	c.Folder = final
	p := c.profile
	p.Title = fmt.Sprintf("worker %d · %s · %s", c.PID, c.Text, c.At.Format(time.DateTime+" UTC"))
	p.Start, p.Found = c.At.Add(-p.Duration), c
	draft, err := os.MkdirTemp(in, part)
	if err != nil {
		return fmt.Errorf("the capture cannot be written: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("the capture of %s cannot be written: %w", final, errors.Join(err, os.RemoveAll(draft)))
		}
	}()
	for _, f := range []struct {
		name string
		fill func(*bytes.Buffer) error
	}{
		{SummaryFile, summary},
		{GraphFile, func(b *bytes.Buffer) error { return p.WriteHTML(b) }},
		{ProfileFile, func(b *bytes.Buffer) error { return p.WriteJSON(b, c.Schema) }},
	} {
		var b bytes.Buffer
		if err := f.fill(&b); err != nil {
			return err
		}
		if err := put(filepath.Join(draft, f.name), b.Bytes()); err != nil {
			return err
		}
	}
	return errors.Join(os.Chmod(draft, 0o755), os.Rename(draft, final))
}

// put writes a file so that it is on the disk: what a capture tells of may take the machine with it.
func put(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
