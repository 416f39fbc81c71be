package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/report"
	"github.com/moonlap/moonlap/internal/ui"
)

// write writes the profile to its file, which appears when it is whole.
func (o *profileOptions) write(sys Sys, p *profile.Profile) error {
	if o.out == "" {
		return nil
	}
	var b bytes.Buffer
	if err := report.Profile(&b, p, "", besideGraph); err != nil {
		return err
	}
	p.Report = b.String()
	b.Reset()
	if err := p.Write(&b, o.format, record.Schema); err != nil {
		return err
	}
	return o.put(sys, b.Bytes())
}

// besideGraph is how a report is drawn that stands beside a flame graph.
var besideGraph = ui.Options{Width: ui.MinWidth}

// put writes to the file, or to stdout.
func (o *profileOptions) put(sys Sys, data []byte) error {
	if o.out == "-" {
		_, err := sys.Stdout.Write(data)
		return err
	}
	if err := files.Write(o.out, data, files.Private); err != nil {
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
