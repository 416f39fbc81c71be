package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is how wide help is, at most: what a terminal has at least.
const helpWidth = 80

// screenFlags are the flags that --help shows of commands with more than fit on a screen of 24 lines.
// 'moonlap help COMMAND' shows all.
var screenFlags = map[string][]string{
	"bench":   {"eval", "setup", "phase", "filter", "time", "compare", "out", "save", "baseline"},
	"compare": {"eval", "setup", "rev", "jit", "http-conf", "time", "fail-if-slower", "out"},
	"doctor":  {"json", "pin", "tune", "luajit", "nginx"},
	"gate":    {"prove", "fail-if-slower", "slowdown", "eval", "filter", "time", "processes"},
	"heap":    {"pid", "master", "save", "since", "out", "pause", "spill"},
	"history": {"add", "delete", "plot", "format", "history", "rebuild"},
	"lint":    {"profile", "measure", "fix", "baseline", "why", "rules", "format"},
	"load":    {"threads", "connections", "duration", "rate", "script", "ab", "ab-conf", "start", "profile", "out"},
	"profile": {"pid", "master", "all", "duration", "off-cpu", "stalls", "locks", "allocations", "out"},
	"time":    {"command", "empty", "runs", "prepare", "fail-if-slower", "out"},
	"watch":   {"pid", "master", "once", "every", "locks", "dicts", "listen", "capture", "when"},
}

// newHelpCommand shows the long help, where --help shows the short one.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show every flag of a command, and its exit statuses",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			for _, about := range cmd.Root().Commands() {
				if len(args) == 0 && about.IsAvailableCommand() {
					names = append(names, about.Name()+"\t"+about.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return knownCommand(cmd.Root(), args)
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), longHelp(about))
			return err
		},
	}
}

// rootHelp is what moonlap --help says, on one screen: the commands, and where the rest is.
func rootHelp(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: moonlap COMMAND --help\n", root.Short)
	for _, group := range root.Groups() {
		fmt.Fprintln(&b, group.Title)
		for _, cmd := range root.Commands() {
			if cmd.GroupID == group.ID {
				fmt.Fprintf(&b, "  %-12s %s\n", cmd.Name(), cmd.Short)
			}
		}
	}
	b.WriteString("All of a command: moonlap help COMMAND. Settings, exit statuses: moonlap help\n")
	return b.String()
}

// shellHelp is what is said of a command that has commands for flags: completion, and those of each shell.
func shellHelp(cmd *cobra.Command) string {
	return filled(cmp.Or(cmd.Long, cmd.Short), helpWidth) + "\n\n" + cmd.UsageString() + "\n" + exitText(cmd.Name())
}

// describeForShells makes one line of what each flag is about: shells show no more than that, nor do they know what quotes mean.
func describeForShells(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, usage := pflag.UnquoteUsage(f)
		f.Usage = strings.Join(strings.Fields(usage), " ")
	})
	for _, inner := range cmd.Commands() {
		describeForShells(inner)
	}
}

// shortHelp is what --help says of a command: on one screen, how to use it.
func shortHelp(cmd *cobra.Command) string {
	examples := strings.Split(cmd.Example, "\n")
	if len(examples) > 3 {
		examples = examples[:3]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\nUsage:\n%s\n", cmd.Short, usageOf(cmd))
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", strings.Join(examples, "\n"))
	}
	fmt.Fprintf(&b, "\nFlags:\n%s\n", flagsOf(cmd, screenFlags[cmd.Name()]).FlagUsagesWrapped(helpWidth))
	fmt.Fprintf(&b, "All flags and exit statuses: moonlap help %s\n", cmd.Name())
	return b.String()
}

// longHelp is all there is to say of a command.
func longHelp(cmd *cobra.Command) string {
	var b strings.Builder
	long := cmp.Or(cmd.Long, cmd.Short+".")
	fmt.Fprintf(&b, "%s\n\n", filled(long, helpWidth))
	if cmd.HasSubCommands() {
		fmt.Fprintf(&b, "%s\n%s", cmd.UsageString(), exitText("moonlap"))
		return b.String()
	}
	fmt.Fprintf(&b, "Usage:\n%s\n", usageOf(cmd))
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if flags := flagsOf(cmd, nil).FlagUsagesWrapped(helpWidth); flags != "" {
		fmt.Fprintf(&b, "\nFlags:\n%s", flags)
	}
	fmt.Fprintf(&b, "\n%s", exitText(cmd.Name()))
	return b.String()
}

// usageOf is the line that begins with the command's name, with its flags named once.
func usageOf(cmd *cobra.Command) string {
	line := cmd.UseLine()
	if utf8.RuneCountInString(line)+2 <= helpWidth {
		return "  " + line
	}
	return "  " + strings.ReplaceAll(fold(line, helpWidth-6), "\n", "\n      ")
}

// flagsOf are a command's flags as help shows them: those of the names that are given, in their order, or all.
func flagsOf(cmd *cobra.Command, names []string) *pflag.FlagSet {
	cmd.InitDefaultHelpFlag()
	shown := pflag.NewFlagSet("", pflag.ContinueOnError)
	add := func(f *pflag.Flag) {
		copied := *f
		name, usage := pflag.UnquoteUsage(f)
		copied.Usage = strings.Join(strings.Fields(usage), " ")
		if f.DefValue == "[]" || f.DefValue == "0s" || f.DefValue == "0%" {
			copied.DefValue = ""
		}
		if !strings.Contains(f.Usage, "`") {
			name = valueName(f)
		}
		copied.Value = named{f.Value, name}
		shown.AddFlag(&copied)
	}
	if names == nil {
		shown.SortFlags = cmd.Flags().SortFlags
		cmd.LocalFlags().VisitAll(add)
		return shown
	}
	shown.SortFlags = false
	for _, name := range names {
		add(cmd.Flags().Lookup(name))
	}
	shown.VisitAll(func(f *pflag.Flag) { f.Usage = brief(f.Usage, helpWidth-34) })
	return shown
}

// brief is a text as far as it fits on a line, if it can end there.
func brief(text string, width int) string {
	for _, end := range []string{"; ", ": ", " (", ", "} {
		if utf8.RuneCountInString(text) <= width {
			return text
		}
		text, _, _ = strings.Cut(text, end)
	}
	return text
}

// valueName is what help calls a flag's value, where its text names none: a word of the user's world, not a type of Go's.
func valueName(f *pflag.Flag) string {
	switch t := f.Value.Type(); t {
	case "string", "stringSlice", "stringArray":
		return strings.ToUpper(f.Name)
	case "duration":
		return "DURATION"
	case "int", "int64", "uint", "uint64", "float64":
		return "N"
	default:
		return t
	}
}

// named is a flag's value under a name of its own.
type named struct {
	pflag.Value
	name string
}

func (n named) Type() string { return n.name }

// nearest is the one of some words that another one was probably meant to be; "": none is near.
func nearest(word string, words []string) string {
	near := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, w := range words {
		near.AddCommand(&cobra.Command{Use: w, Run: func(*cobra.Command, []string) {}})
	}
	// What a word begins is suggested, too: all words, for an empty one.
	if all := near.SuggestionsFor(word); word != "" && len(all) > 0 {
		return all[0]
	}
	return ""
}

// withNearest adds to the error of a flag that there is none of the name which flag was probably meant.
func withNearest(cmd *cobra.Command, err error) error {
	var none *pflag.NotExistError
	if !errors.As(err, &none) || none.GetSpecifiedShortnames() != "" {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if name := nearest(none.GetSpecifiedName(), names); name != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, name)
	}
	return err
}

// filled breaks the paragraphs of a text anew, so that they fit. What has a line that begins with a space stays as it is.
func filled(text string, width int) string {
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, p := range paragraphs {
		if !strings.HasPrefix(p, " ") && !strings.Contains(p, "\n ") {
			paragraphs[i] = fold(p, width)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// fold breaks a paragraph at its spaces.
func fold(text string, width int) string {
	var b strings.Builder
	used := 0
	for _, word := range strings.Fields(text) {
		length := utf8.RuneCountInString(word)
		switch {
		case used == 0:
		case used+1+length > width:
			b.WriteByte('\n')
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += length
	}
	return b.String()
}
