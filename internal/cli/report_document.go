package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/moonlap/moonlap/internal/files"
	"github.com/moonlap/moonlap/internal/view"
	"github.com/moonlap/moonlap/internal/view/profiles"
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
		data, err := io.ReadAll(files.Limit(from, path, profiles.Most))
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := view.Draw(&b, data, sys.Now().Location(), reportOptions(sys)); err != nil {
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
