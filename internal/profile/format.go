package profile

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Formats are the names of the formats that Write knows.
var Formats = []string{"html", "svg", "pprof", "folded", "speedscope", "json"}

// endings are those of files, the usual one of a format before others.
var endings = []struct{ ending, format string }{
	{".speedscope.json", "speedscope"},
	{".html", "html"}, {".svg", "svg"}, {".folded", "folded"}, {".json", "json"},
	{".pprof", "pprof"}, {".pb.gz", "pprof"}, {".prof", "pprof"},
}

// EndingOf is the ending of files of a format.
func EndingOf(format string) string {
	i := slices.IndexFunc(endings, func(e struct{ ending, format string }) bool { return e.format == format })
	return endings[i].ending
}

// FormatOf is the format that a file's name asks for, or "".
func FormatOf(file string) string {
	for _, known := range endings {
		if strings.HasSuffix(strings.ToLower(file), known.ending) {
			return known.format
		}
	}
	return ""
}

var writers = map[string]func(*Profile, io.Writer) error{
	"svg": (*Profile).WriteSVG, "pprof": (*Profile).WritePprof, "folded": (*Profile).WriteFolded,
	"speedscope": (*Profile).WriteSpeedscope, "json": (*Profile).WriteJSON,
}

// Write writes the profile in one of the Formats; a page has the report beside its graph.
func (p *Profile) Write(to io.Writer, format, report string) error {
	if format == "html" {
		return p.WriteHTML(to, report)
	}
	if write, ok := writers[format]; ok {
		return write(p, to)
	}
	return fmt.Errorf("no format %q: %s", format, strings.Join(Formats, ", "))
}
