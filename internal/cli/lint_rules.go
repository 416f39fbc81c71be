package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/moonlap/moonlap/internal/jsontext"
	"github.com/moonlap/moonlap/internal/lint"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/ui"
)

func newRulesCommand(sys Sys) *cobra.Command {
	var o lintOptions
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List the rules of lint, with their prices and sources",
		Long: `List the rules of 'moonlap lint': the price of each as it was measured on this machine
or is shipped, how often it was found in public projects, and where it is from.

'moonlap lint --why RULE' explains one. A rule whose pair shows no difference is
silent; it is listed because people look for it.`,
		Example: `  moonlap rules
  moonlap rules --format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := openLinting(cmd.Context(), sys, o, nil)
			if err != nil {
				return err
			}
			return l.list(sys, o.format)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.luajit, "luajit", "", "`PATH` of the LuaJIT whose prices are shown")
	f.StringVar(&o.config, "config", "", "settings `FILE` (default: .moonlap.lua of the project)")
	f.StringVar(&o.format, "format", "text", "text, json or markdown")
	return cmd
}

// listed is a rule as --format json has it.
type listed struct {
	Name  string      `json:"name"`
	Title string      `json:"title"`
	Price *lint.Price `json:"price,omitempty"`
	Found string      `json:"found"`
	From  string      `json:"from"`
}

func (l *linting) list(sys Sys, format string) error {
	switch format {
	case "markdown":
		return writeRules(sys.Stdout, l.rules, lint.Shipped())
	case "json":
		rules := []listed{}
		for _, r := range l.rules {
			rules = append(rules, listed{r.Name, r.Title(), l.prices[r.Name], r.Fact("Found"), r.Fact("From")})
		}
		return jsontext.Write(sys.Stdout, struct {
			Schema string   `json:"schema"`
			Kind   string   `json:"kind"`
			Rules  []listed `json:"rules"`
		}{record.Schema, "rules", rules})
	}
	p := ui.NewPage(reportOptions(sys))
	for _, r := range l.rules {
		p.Line(fmt.Sprintf("%-20s %s", r.Name, ui.Clean(r.Title())))
		if price := l.prices[r.Name]; price != nil {
			p.FaintLine("    " + price.Text(p.Glyphs, sys.Now()))
		}
		if found := r.Fact("Found"); found != "" {
			p.FaintLine("    found: " + found)
		}
		if from := r.Fact("From"); from != "" {
			p.FaintLine("    from: " + from)
		}
	}
	return p.Write(sys.Stdout)
}

// writeRules writes the page of rules: docs/reference/rules.md.
func writeRules(w io.Writer, rules []lint.Rule, prices lint.Prices) error {
	glyphs := ui.NewPage(ui.Options{}).Glyphs
	var b strings.Builder
	b.WriteString("# Rules of moonlap lint\n\nThis page is generated: `moonlap rules --format markdown`. " +
		"Its prices are the shipped ones, of " + machines(prices) + ". `moonlap lint --measure` takes those of your machine.\n")
	for _, r := range rules {
		head, rest, _ := strings.Cut(strings.TrimSpace(r.About), "\n")
		fmt.Fprintf(&b, "\n## %s\n\n**%s.**", r.Name, strings.TrimSpace(strings.TrimLeft(head, "# ")))
		if price := prices[r.Name]; price != nil {
			fmt.Fprintf(&b, " Price: %s.", price.Amount(glyphs))
		}
		b.WriteString("\n")
		for line := range strings.Lines(rest) {
			if line == "Found: not counted\n" {
				continue
			}
			for _, word := range []string{"Not a problem: ", "Only when asked: ", "Instead: ", "Measured: ", "Found: ", "From: "} {
				if text, ok := strings.CutPrefix(line, word); ok {
					line = "*" + strings.TrimSuffix(word, " ") + "* " + text
					if word == "From: " {
						line = "\n" + line
					}
				}
			}
			b.WriteString(line)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// machines are those that prices were measured on, each once.
func machines(prices lint.Prices) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(prices)) {
		if m := prices[name].MeasuredOn(); !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return strings.Join(all, "; ")
}
