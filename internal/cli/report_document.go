package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/capture"
	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/report"
	"github.com/moonlap/moonlap/internal/watch"
)

// isDocument reports whether a file begins as documents about workers do, which profile, explain and watch write; a record begins
// with a line of another kind, and may be compressed.
func isDocument(from *bufio.Reader) bool {
	head, _ := from.Peek(len("{\n  \"schema\"")) // explain's was indented once
	start, _, _ := strings.Cut(strings.Join(strings.Fields(string(head)), ""), `":`)
	return strings.HasPrefix(start, `{"schema`)
}

// reportDocument draws what a document's run showed; drawn reports that the file is one. A pipe is none: it is read once.
func reportDocument(ctx context.Context, sys Sys, path, format string) (drawn bool, err error) {
	if path == "-" {
		return false, nil
	}
	f, err := files.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	from := bufio.NewReader(f)
	if !isDocument(from) {
		return false, nil
	}
	if format != "text" {
		return true, usageErrorf("--format %s: %s is no record; 'moonlap profile %[2]s --format' writes profiles in other formats", format, path)
	}
	pages, err := awaited(ctx, sys, "reading "+path, func() ([]byte, error) {
		data, err := io.ReadAll(files.Limit(from, path, mostProfile))
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := drawDocuments(&b, sys, data); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return b.Bytes(), nil
	})
	if err != nil {
		return true, err
	}
	_, err = sys.Stdout.Write(pages)
	return true, err
}

var errEarlier = errors.New("an earlier version of moonlap wrote it, and without what is needed to draw it again")

// drawDocuments draws the documents of a file, one below the other.
func drawDocuments(to io.Writer, sys Sys, data []byte) error {
	opt := reportOptions(sys)
	for line := range bytes.Lines(data) {
		var about struct {
			Schema string `json:"schema"`
			Kind   string `json:"kind"`
		}
		if json.Unmarshal(line, &about) != nil || !slices.Contains([]string{"watch", "capture"}, about.Kind) {
			return drawDocument(to, sys, data) // of several lines, or the only one
		}
		if about.Kind == "capture" {
			if err := drawDocument(to, sys, line); err != nil {
				return err
			}
			continue
		}
		if about.Schema != record.Schema {
			return fmt.Errorf("its schema is %q, and this moonlap reads %q", about.Schema, record.Schema)
		}
		if err := files.CheckJSON("the file", line); err != nil {
			return err
		}
		var s watch.Snapshot
		if err := json.Unmarshal(line, &s); err != nil {
			return err
		}
		if s.At.IsZero() {
			return errEarlier
		}
		if err := report.Watch(to, s, s.At.In(sys.Now().Location()), opt); err != nil {
			return err
		}
	}
	return nil
}

// drawDocument draws one.
func drawDocument(to io.Writer, sys Sys, data []byte) error {
	d, err := profile.ReadDocument(data, record.Schema)
	if err != nil {
		return err
	}
	opt := reportOptions(sys)
	if kept, ok := d.Evidence[capture.Name].(*capture.Capture); ok {
		return kept.Summary(to, opt)
	}
	switch d.Kind {
	case "explain":
		if len(d.PIDs) == 0 {
			return errEarlier
		}
		return report.Explain(to, d.Profile, opt)
	default:
		return report.Profile(to, d.Profile, "", opt)
	}
}
