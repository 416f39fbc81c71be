package lapplot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Formats are the endings of file names that [Figure.WriteFile] knows.
var Formats = []string{"svg", "png", "html"}

// Write writes the figure in a format: svg, png or html.
func (f *Figure) Write(w io.Writer, format string) error {
	switch format {
	case "svg":
		return f.WriteSVG(w)
	case "png":
		return f.WritePNG(w)
	case "html":
		return f.WriteHTML(w)
	}
	return fmt.Errorf("lapplot: no format %q: svg, png or html", format)
}

// WriteFile writes the figure in the format that the file's name ends in: .svg, .png or
// .html. The file appears when it is whole: after an error there is none, or the one that
// was there before.
func (f *Figure) WriteFile(name string) error {
	return f.WriteFileAs(name, strings.ToLower(strings.TrimPrefix(filepath.Ext(name), ".")))
}

// WriteFileAs is [Figure.WriteFile] in a format that the name does not tell.
func (f *Figure) WriteFileAs(name, format string) error {
	var picture bytes.Buffer
	if err := f.Write(&picture, format); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := replace(name, picture.Bytes()); err != nil {
		return fmt.Errorf("lapplot: the plot cannot be written: %s: %w", name, cause(err))
	}
	return nil
}

// cause is an error of the file system without the path, which may be that of the file
// beside name.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// replace writes a file beside name and renames it. What is there and no plain file, a
// device or a pipe, is written to as it is.
func replace(name string, data []byte) error {
	mode := os.FileMode(0o666)
	if info, err := os.Stat(name); err == nil {
		if !info.Mode().IsRegular() {
			return overwrite(name, data)
		}
		mode = info.Mode().Perm()
		if resolved, err := filepath.EvalSymlinks(name); err == nil {
			name = resolved
		}
	}
	part := fmt.Sprintf("%s.%d.part", name, os.Getpid())
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(part, name)
	}
	if err != nil {
		os.Remove(part)
	}
	return err
}

func overwrite(name string, data []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return err
}

// check reports whether there is anything to draw.
func (f *Figure) check() error {
	for _, c := range f.Charts {
		if c.hasPoints() {
			return nil
		}
	}
	return ErrEmpty
}

// caption is the figure's title, or those of its charts.
func (f *Figure) caption() string {
	if f.Title != "" {
		return f.Title
	}
	var titles []string
	for _, c := range f.Charts {
		titles = append(titles, c.Title)
	}
	return strings.Join(titles, ", ")
}
