package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
)

// write writes the profile to its file, which appears when it is whole.
func (o *profileOptions) write(sys Sys, p *profile.Profile) error {
	if o.out == "" {
		return nil
	}
	var b bytes.Buffer
	if err := p.Write(&b, o.format, record.Schema); err != nil {
		return err
	}
	return o.put(sys, b.Bytes())
}

// put writes to the file, or to stdout.
func (o *profileOptions) put(sys Sys, data []byte) error {
	if o.out == "-" {
		_, err := sys.Stdout.Write(data)
		return err
	}
	if err := replaceFile(o.out, data); err != nil {
		return fmt.Errorf("the profile cannot be written: %w", err)
	}
	return nil
}

// writableFolder tells early that a file cannot be made.
func writableFolder(file string) error {
	folder := filepath.Dir(file)
	info, err := os.Stat(folder)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", folder)
	}
	return nil
}

// replaceFile writes a file under another name and renames it; what is no plain file, a device or a
// pipe, is written to as it is. A link stays one.
func replaceFile(name string, data []byte) error {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return errors.Join(err, f.Close())
	}
	draft, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.part")
	if err != nil {
		return err
	}
	_, err = draft.Write(data)
	err = errors.Join(err, draft.Chmod(0o644), draft.Close())
	if err == nil {
		err = os.Rename(draft.Name(), name)
	}
	if err != nil {
		os.Remove(draft.Name())
	}
	return err
}
