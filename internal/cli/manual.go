package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"
)

// newManualCommand writes the man pages; packages run it when they are built.
func newManualCommand(sys Sys) *cobra.Command {
	return &cobra.Command{
		Use:    "manual FOLDER",
		Short:  "Write a man page for each command into a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			pages := append([]*cobra.Command{cmd.Root()}, cmd.Root().Commands()...)
			for _, page := range pages {
				if page.Hidden {
					continue
				}
				name := strings.ReplaceAll(page.CommandPath(), " ", "-") + ".1"
				if err := os.WriteFile(filepath.Join(args[0], name), manPage(page), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// manPage is a command's help in the language of man(7). The help's sections become the page's. Paragraphs
// are filled to the reader's terminal, and what the help lays out itself stays as it is.
func manPage(cmd *cobra.Command) []byte {
	help := longHelp(cmd)
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	var page bytes.Buffer
	fmt.Fprintf(&page, ".TH %s 1 \"\" \"moonlap %s\" \"Moonlap\"\n", strings.ToUpper(name), roff(version))
	fmt.Fprintf(&page, ".ad l\n.SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	fmt.Fprintf(&page, ".SH SYNOPSIS\n.nh\n%s\n.hy\n.SH DESCRIPTION\n", roff(cmd.UseLine()))
	begun := true // a section, whose first paragraph needs no mark
	section := func(title string) {
		fmt.Fprintf(&page, ".SH %s\n", title)
		begun = true
	}
	for _, paragraph := range strings.Split(strings.Trim(help, "\n"), "\n\n") {
		title, rest, _ := strings.Cut(paragraph, "\n")
		switch name := manSections[title]; name {
		case "SYNOPSIS":
			continue
		case "":
			if title == questions[0].text { // the first list of commands
				section("COMMANDS")
			}
		default:
			section(name)
			paragraph = rest
			if name == "OPTIONS" && !cmd.HasSubCommands() {
				paragraph = strings.TrimRight(flagsOf(cmd, nil).FlagUsagesWrapped(helpWidth-manIndent), "\n")
			}
		}
		if !begun {
			page.WriteString(".PP\n")
		}
		begun = false
		laidOut := strings.HasPrefix(paragraph, " ") || strings.Contains(paragraph, "\n ")
		if laidOut {
			fmt.Fprintf(&page, ".in %dn\n.nf\n%s\n.fi\n.in\n", max(0, min(manIndent, helpWidth-lipgloss.Width(paragraph))), roff(paragraph))
		} else {
			fmt.Fprintf(&page, "%s\n", roff(paragraph))
		}
	}
	if cmd.HasParent() {
		fmt.Fprintf(&page, ".SH SEE ALSO\n.BR %s (1)\n", roff(cmd.Root().Name()))
	}
	return page.Bytes()
}

// manIndent is how far in stands what the help lays out: with its own two columns, as far as a page's text. What is
// too wide for that stands further out.
const manIndent = 5

// manSections are the sections of a help text, as man pages call them.
var manSections = map[string]string{
	"Usage:": "SYNOPSIS", "Examples:": "EXAMPLES",
	"Flags:": "OPTIONS", "Exit status:": "EXIT STATUS",
}

// roff escapes what roff would read as its own: backslashes, hyphens that are to stay ASCII, and lines
// that begin as requests do.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
