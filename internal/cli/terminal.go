package cli

import (
	"cmp"
	"strings"

	"github.com/moonlap/moonlap/internal/ui"
)

// reportOptions say for whom reports are drawn in sys.
func reportOptions(sys Sys) ui.Options {
	return ui.Options{
		Width: sys.Width(),
		Color: sys.StdoutTerminal && sys.Getenv("NO_COLOR") == "",
		ASCII: !knowsUnicode(sys.Getenv),
	}
}

// optionsIn are those of a format, which is text or markdown.
func optionsIn(sys Sys, format string) ui.Options {
	o := reportOptions(sys)
	o.Markdown = format == "markdown"
	return o
}

// knowsUnicode reports whether text may be more than ASCII: unless the locale has another encoding than UTF-8. The first of
// these variables that is set counts (POSIX.1-2017, chapter 8.2). Where none is, which would mean ASCII, nobody chose:
// so it is in most containers, and their terminals know Unicode.
func knowsUnicode(getenv func(string) string) bool {
	locale := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"), "utf-8"))
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}
