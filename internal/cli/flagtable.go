package cli

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/bench"
	"github.com/moonlap/moonlap/internal/lint"
	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/plot"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/profile"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/lap/lapplot"
)

// A flagRule is what holds of a flag beyond its value and its help. A flag without a rule works
// with every runtime, and holds for all sides.
type flagRule struct {
	name string

	in      codeKind           // whose code it is for
	alone   bool               // it has no meaning where sides are compared
	sides   bool               // given N times, it makes N sides
	inFiles bool               // a bench file may set it in its first comment lines
	values  func(Sys) []string // what a shell completes; nil: anything
	strict  bool               // it takes these values and no other

	of map[string][]string // values, where they differ from command to command
}

// codeKind is the kind of code that a flag is for.
type codeKind int

const (
	anyCode codeKind = iota
	luaCode          // on LuaJIT and in nginx
	inNginx          // in nginx alone
)

// flagRules is the one table of flags. Sides are named in its order. What a command refuses, which
// flags make sides or may stand in a bench file, and what a shell completes, all follow from it.
var flagRules = []flagRule{
	{name: "eval", in: luaCode, sides: true},
	{name: "setup", in: luaCode, sides: true},
	{name: "rev", sides: true, values: revisions},
	{name: "bench-from", values: these(bench.FromTree, bench.FromRevision)},
	{name: "runtime", sides: true, inFiles: true, strict: true, values: these(runtime.Auto, runtime.LuaJIT, runtime.Nginx, runtime.Go)},
	{name: "phase", in: inNginx, sides: true, inFiles: true, strict: true, values: these(runtime.Phases...)},
	{name: "luajit", in: luaCode, sides: true, values: paths},
	{name: "nginx", in: inNginx, sides: true, values: paths},
	{name: "go", sides: true, values: paths},
	{name: "jit", in: luaCode, sides: true, inFiles: true, values: these("off")},
	{name: "http-conf", in: inNginx, sides: true, inFiles: true},
	{name: "main-conf", in: inNginx, sides: true, inFiles: true},

	{name: "workers", in: inNginx, alone: true, inFiles: true},
	{name: "laps", in: luaCode, inFiles: true},
	{name: "concurrency", in: luaCode, inFiles: true},
	{name: "rate", in: luaCode, inFiles: true},
	{name: "memory", in: luaCode, inFiles: true},
	{name: "clock", in: luaCode, strict: true, values: these("auto", "tsc", "monotonic")},
	{name: "gc", inFiles: true, strict: true, values: these("natural", "stopped", "full")},
	{name: "timeout", inFiles: true},
	{name: "time", inFiles: true},
	{name: "compare", alone: true, inFiles: true},
	{name: "list", alone: true},
	{name: "precision", alone: true},
	{name: "replay", alone: true},

	{name: "pid", values: workers},
	{name: "master", values: masters},
	{name: "by", strict: true, values: these(byAuto, byEBPF, byPtrace)},
	{name: "kind", strict: true, values: these(plot.Kinds...)},
	{name: "format", strict: true, of: formatsOf},
	{name: "out", values: paths},
	{name: "since", values: paths},
	{name: "history", values: paths},
	{name: "capture", values: paths},
}

// formatsOf are the values of --format by command. Those that are not here have text and json.
var formatsOf = map[string][]string{
	"bench": formats, "compare": formats, "time": formats, "report": append(slices.Clone(formats), formatSeries), "load": loadFormats,
	"gate": {"text", "json"}, "history": {"text", "json", "csv", "markdown"},
	"lint": lint.Formats, "rules": {"text", "json", "markdown"},
	"profile": profile.Formats, "heap": profile.Formats, "plot": lapplot.Formats,
}

// valuesOf are what a flag takes in a command; nil: anything.
func (r flagRule) valuesOf(command string, sys Sys) []string {
	switch {
	case r.of != nil:
		return r.of[command]
	case r.values != nil:
		return r.values(sys)
	}
	return nil
}

// ruleOf is the rule of a flag; the zero rule where it has none.
func ruleOf(name string) flagRule {
	if i := slices.IndexFunc(flagRules, func(r flagRule) bool { return r.name == name }); i >= 0 {
		return flagRules[i]
	}
	return flagRule{name: name}
}

// namesOf are the names of the flags of which something holds, in the table's order.
func namesOf(holds func(flagRule) bool) (names []string) {
	for _, r := range flagRules {
		if holds(r) {
			names = append(names, r.name)
		}
	}
	return names
}

// changed is the first flag that was given and of which something holds; "" is none.
func changed(flags *pflag.FlagSet, holds func(flagRule) bool) string {
	for _, name := range namesOf(holds) {
		if flags.Changed(name) {
			return name
		}
	}
	return ""
}

// inTable refuses a value that the table does not have, of a flag that takes no other.
func inTable(command string, flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		r := ruleOf(f.Name)
		values := r.valuesOf(command, Sys{})
		if !r.strict || values == nil {
			return
		}
		given := []string{f.Value.String()}
		if several, ok := f.Value.(pflag.SliceValue); ok {
			given = several.GetSlice()
		}
		for _, value := range given {
			err = cmp.Or(err, oneOf("--"+f.Name, value, values...))
		}
	})
	return err
}

// these completes one of a list.
func these(values ...string) func(Sys) []string { return func(Sys) []string { return values } }

// paths leaves completing to the shell, which knows files.
func paths(Sys) []string { return nil }

// revisions are git's branches and tags, and the working tree.
func revisions(Sys) []string {
	return append([]string{bench.WorkingTree}, bench.Revisions(context.Background())...)
}

// workers are the process IDs of nginx workers, each with its title.
func workers(Sys) []string {
	pids, err := nginx.Workers()
	if err != nil {
		return nil
	}
	return titled(pids)
}

// masters are those of their masters.
func masters(Sys) []string {
	pids, err := nginx.Workers()
	if err != nil {
		return nil
	}
	for i, pid := range pids {
		pids[i] = process.Parent(pid)
	}
	return titled(slices.Compact(slices.Sorted(slices.Values(pids))))
}

func titled(pids []int) (values []string) {
	for _, pid := range pids {
		title := strings.Map(func(r rune) rune {
			if r < ' ' {
				return ' '
			}
			return r
		}, (&process.Process{PID: pid}).Title())
		values = append(values, strconv.Itoa(pid)+"\t"+title)
	}
	return values
}

// completeValues lets a shell complete the values of a command's flags, as the table has them.
func completeValues(sys Sys, cmd *cobra.Command) {
	for _, r := range flagRules {
		if r.values == nil && r.of[cmd.Name()] == nil || cmd.Flags().Lookup(r.name) == nil {
			continue
		}
		complete := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			if values := r.valuesOf(cmd.Name(), sys); values != nil {
				return values, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		}
		// The only error is a flag that is not there, or one that is registered twice.
		_ = cmd.RegisterFlagCompletionFunc(r.name, complete)
	}
}
