package profile

import (
	"fmt"
	"io"
	"strings"
)

// Formats are the names of the formats that Write knows.
var Formats = []string{"html", "svg", "pprof", "folded", "speedscope", "json"}

// FormatOf is the format that a file's name asks for, or "".
func FormatOf(file string) string {
	for _, known := range []struct{ ending, format string }{
		{".speedscope.json", "speedscope"},
		{".html", "html"}, {".svg", "svg"}, {".folded", "folded"}, {".json", "json"},
		{".pprof", "pprof"}, {".pb.gz", "pprof"}, {".prof", "pprof"},
	} {
		if strings.HasSuffix(strings.ToLower(file), known.ending) {
			return known.format
		}
	}
	return ""
}

// Write writes the profile in one of the Formats; schema is for json alone.
func (p *Profile) Write(to io.Writer, format, schema string) error {
	switch format {
	case "html":
		return p.WriteHTML(to)
	case "svg":
		return p.WriteSVG(to)
	case "pprof":
		return p.WritePprof(to)
	case "folded":
		return p.WriteFolded(to)
	case "speedscope":
		return p.WriteSpeedscope(to)
	case "json":
		return p.WriteJSON(to, schema)
	}
	return fmt.Errorf("no format %q: %s", format, strings.Join(Formats, ", "))
}
