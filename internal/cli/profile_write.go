package cli

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/ui"
	"github.com/moonlap/moonlap/internal/view/profiles"
)

// write writes the profile to its file, which appears when it is whole, and draws it.
func (o *profileOptions) write(sys Sys, p *profile.Profile) error {
	return o.put(sys, func(w io.Writer, file string, opt ui.Options) error { return profiles.Draw(w, p, file, opt) },
		func(b *bytes.Buffer, beside string) error { return p.Write(b, o.format, beside) })
}

// writeDiff does so with how two profiles differ.
func (o *profileOptions) writeDiff(sys Sys, before, after *profile.Profile) error {
	d, err := profiles.Compare(before, after, o.title, o.lines)
	if err != nil {
		return err
	}
	return o.put(sys, func(w io.Writer, file string, opt ui.Options) error { return profiles.DrawDiff(w, d, file, opt) },
		func(b *bytes.Buffer, beside string) error { return d.Write(b, o.format, beside) })
}

// besideGraph is how a report is drawn that stands beside a flame graph.
var besideGraph = ui.Options{Width: ui.MinWidth}

// put writes to the file, or to stdout, which then has nothing else, and draws. write gets the report that stands beside a graph.
func (o *profileOptions) put(sys Sys, draw func(w io.Writer, file string, opt ui.Options) error, write func(b *bytes.Buffer, beside string) error) error {
	if o.out != "" {
		var beside, b bytes.Buffer
		if err := draw(&beside, "", besideGraph); err != nil {
			return err
		}
		if err := write(&b, beside.String()); err != nil {
			return err
		}
		if err := writeOut(sys, o.out, "the profile", b.Bytes(), files.Private); err != nil || o.out == "-" {
			return err
		}
	}
	return draw(sys.Stdout, o.out, reportOptions(sys))
}

// writeOut writes what was made, "the plot", to a file, which appears when it is whole, or to stdout: -.
func writeOut(sys Sys, to, what string, data []byte, mode fs.FileMode) error {
	if to == "-" {
		_, err := sys.Stdout.Write(data)
		return err
	}
	if err := files.Write(to, data, mode); err != nil {
		return fmt.Errorf("%s cannot be written: %w", what, err)
	}
	return nil
}

// outFormat is the format of what is written to a file: that of its ending, unless one of the formats was chosen.
func outFormat(out, chosen, formats string) (string, error) {
	switch {
	case out == "" && chosen != "":
		return "", usageErrorf("--format %s: where to? --out FILE, or - for stdout", chosen)
	case out == "" || chosen != "":
		return chosen, nil
	}
	format := profile.FormatOf(out)
	if format == "" {
		return "", usageErrorf("%s: in which format? --format %s", out, formats)
	}
	return format, nil
}

// writableFolder fails early where a file cannot be made.
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
