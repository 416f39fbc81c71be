package docs

import (
	"slices"
	"strings"
	"testing"

	"github.com/moonlap/moonlap/internal/cli"
)

// TestCommandFlags holds the pages of commands to the program's own help.
func TestCommandFlags(t *testing.T) {
	for _, command := range []string{"compare", "explain", "heap", "history", "lint", "plot", "profile", "watch"} {
		t.Run(command, func(t *testing.T) {
			var help strings.Builder
			sys := cli.Sys{
				Stdin: strings.NewReader(""), Stdout: &help, Stderr: &help,
				Getenv: func(string) string { return "" }, Width: func() int { return 80 },
			}
			if code := cli.Main(t.Context(), sys, []string{"help", command}); code != cli.ExitOK {
				t.Fatalf("%s --help ends with %d: %s", command, code, help.String())
			}
			_, flags, _ := strings.Cut(help.String(), "\nFlags:\n")
			var documented []string
			for line := range strings.Lines(section(t, "docs/reference/"+command+".md", "Flags")) {
				if cells := strings.Split(line, "|"); len(cells) > 2 {
					documented = append(documented, found(cells[1], "--([a-z][a-z-]*)")...)
				}
			}
			want := slices.DeleteFunc(found(flags, `(?m)^ {2,6}(?:-\w, )?--([a-z-]+)`), func(f string) bool { return f == "help" })
			slices.Sort(documented)
			same(t, want, documented)
		})
	}
}
