package cli

import (
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
	"github.com/moonlap/moonlap/internal/view/profiles"
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

	bounds    byCommand[bounds]   // numbers that it takes
	conflicts byCommand[[]string] // flags that it does not go with
	needs     byCommand[[]string] // flags that it means nothing without: one of these

	stays   byCommand[bool]   // with --on it means something here, and is not sent to the hosts
	oneHost byCommand[string] // why it does not go with --on
	file    bool              // it names a file here, which travels to the hosts
}

// Why a flag does not go with --on.
const (
	oneByOne = "keep the hosts' records with --out, and use them one by one"
	oneRuns  = "the history takes runs of one machine"
)

func onLoad(why string) byCommand[string] { return byCommand[string]{"load": why} }

var (
	here       = byCommand[bool]{"": true}
	hereOfLoad = byCommand[bool]{"load": true} // each host has a part of it
)

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

	{name: "workers", in: inNginx, alone: true, inFiles: true, bounds: byCommand[bounds]{"": {from: 1, most: 256}}},
	{name: "laps", in: luaCode, inFiles: true},
	{name: "concurrency", in: luaCode, inFiles: true, bounds: byCommand[bounds]{"": notNegative}},
	{name: "rate", in: luaCode, inFiles: true, bounds: byCommand[bounds]{"": notNegative}, conflicts: in("load", "ramp", "steps"), stays: hereOfLoad},
	{name: "memory", in: luaCode, inFiles: true},
	{name: "clock", in: luaCode, strict: true, values: these("auto", "tsc", "monotonic")},
	{name: "gc", inFiles: true, strict: true, values: these("natural", "stopped", "full")},
	{name: "timeout", inFiles: true, bounds: byCommand[bounds]{"": aboveZero, "time": notNegative}},
	{name: "time", inFiles: true, bounds: byCommand[bounds]{"": aboveZero}},
	{name: "compare", alone: true, inFiles: true},
	{name: "list", alone: true, oneHost: byCommand[string]{"": oneByOne}},
	{name: "wait-quiet", bounds: byCommand[bounds]{"": notNegative}},
	{name: "precision", alone: true, bounds: byCommand[bounds]{"": aboveZero}},
	{name: "replay", alone: true},
	{name: "processes", bounds: byCommand[bounds]{"": notNegative, "lint": atLeast(6)}}, // fewer make no interval
	{name: "runs", bounds: byCommand[bounds]{"time": notNegative, "lint": atLeast(1)}},
	{name: "warmup", bounds: byCommand[bounds]{"time": notNegative}},
	{name: "min-effect", bounds: byCommand[bounds]{"": aboveZero}},
	{name: "baseline-anyway", needs: in("", "baseline")},
	{name: "show-output", conflicts: in("time", "discard-output")},
	{name: "measure", conflicts: in("lint", "why", "show-config", "lsp")},
	{name: "why", conflicts: in("lint", "show-config", "lsp")},
	{name: "show-config", conflicts: in("lint", "lsp")},
	{name: "load", conflicts: in("lint", "measure", "why", "show-config", "lsp", "profile")},
	{name: "write", needs: in("lint", "fix")},
	{name: "noise", bounds: byCommand[bounds]{"doctor": {most: 60000 * ms}}},
	{name: "tune", conflicts: in("doctor", "json")},
	{name: "add", conflicts: in("history", "rebuild", "delete", "plot", "html")},
	{name: "rebuild", conflicts: in("history", "delete", "plot", "html")},
	{name: "print-schema", conflicts: in("history", "add", "rebuild", "delete", "plot", "html")},
	{name: "delete", conflicts: in("history", "plot", "html")},
	{name: "commit-url", needs: in("history", "html")},

	{name: "threads", bounds: byCommand[bounds]{"load": {from: 1, most: 1024}}, stays: hereOfLoad},
	{name: "connections", bounds: byCommand[bounds]{"load": {from: 1, most: 1 << 20}}, stays: hereOfLoad},
	{name: "pipeline", bounds: byCommand[bounds]{"load": atLeast(1)}},
	{name: "slice", bounds: byCommand[bounds]{"load": atLeast(10 * ms)}, stays: hereOfLoad},
	{name: "requests", bounds: byCommand[bounds]{"load": notNegative}, stays: hereOfLoad},
	{name: "ramp", conflicts: in("load", "steps"), stays: hereOfLoad},
	{name: "ab", conflicts: in("load", "ab-conf", "ab-header", "self-test", "ramp", "steps", "find-max-rate")},
	{name: "ab-conf", conflicts: in("load", "ab-header", "self-test", "ramp", "steps", "find-max-rate", "unix", "start"), oneHost: onLoad("each host would load servers of its own")},
	{name: "ab-header", conflicts: in("load", "self-test", "ramp", "steps", "find-max-rate")},
	{name: "self-test", conflicts: in("load", "ramp", "steps", "find-max-rate")},
	{name: "find-max-rate", conflicts: in("load", "ramp", "steps", "requests"), needs: in("load", "slo", "fail-if"), oneHost: onLoad("each host would find a rate of its own; try rates with -R")},
	{name: "body", conflicts: in("load", "body-file")},
	{name: "http2", conflicts: in("load", "websocket")},
	{name: "cert", needs: in("load", "key"), file: true},
	{name: "key", needs: in("load", "cert"), file: true},
	{name: "poisson", needs: in("load", "rate", "ramp", "steps", "find-max-rate")},
	{name: "metrics", needs: in("load", "ab", "ab-conf", "ab-header", "self-test")},
	{name: "fail-if-slower", needs: in("load", "ab", "ab-conf", "ab-header", "self-test", "baseline")},

	{name: "pid", values: workers, conflicts: in("", "master", "all")},
	{name: "master", values: masters, conflicts: in("", "all")},
	{name: "by", strict: true, values: these(profiles.Auto, profiles.EBPF, profiles.Ptrace)},
	{name: "duration", bounds: byCommand[bounds]{"": aboveZero, "watch": notNegative}, needs: in("watch", "capture")},
	{name: "pause", bounds: byCommand[bounds]{"": shortPause, "watch": notNegative, "heap": notNegative}, needs: in("watch", "capture")},
	{name: "hz", bounds: byCommand[bounds]{"": samplingRate}, needs: in("watch", "capture")},
	{name: "budget", bounds: byCommand[bounds]{"": anyShare}, conflicts: in("watch", "capture")},
	{name: "stalls", bounds: byCommand[bounds]{"profile": aboveZero}, conflicts: in("profile", "baseline")},
	{name: "allocations", conflicts: in("profile", "baseline")},
	{name: "diff", conflicts: in("profile", "pid", "master", "all", "baseline", "push", "continuous")},
	{name: "baseline", conflicts: in("profile", "push", "continuous"), oneHost: byCommand[string]{"": oneByOne, "load": oneRuns}},
	{name: "push-as", needs: in("profile", "push")},
	{name: "push-header", needs: in("profile", "push")},
	{name: "lines", needs: in("profile", "diff", "baseline")},
	{name: "every", bounds: byCommand[bounds]{"": atLeast(100 * ms)}, conflicts: in("watch", "capture"), needs: in("profile", "continuous")},
	{name: "once", conflicts: in("watch", "listen", "capture")},
	{name: "dicts", conflicts: in("watch", "capture")},
	{name: "top", bounds: byCommand[bounds]{"watch": {from: 1, most: 1000}}, conflicts: in("watch", "capture")},
	{name: "listen", conflicts: in("watch", "capture")},
	{name: "when", needs: in("watch", "capture")},
	{name: "keep", bounds: byCommand[bounds]{"watch": {from: second, most: 5 * minute}, "profile": atLeast(1)},
		needs: byCommand[[]string]{"watch": {"capture"}, "profile": {"continuous"}}},
	{name: "after", bounds: byCommand[bounds]{"watch": {from: 500 * ms, most: 5 * minute}}, needs: in("watch", "capture")}, // events may be read that late
	{name: "limit", bounds: byCommand[bounds]{"watch": atLeast(1)}, needs: in("watch", "capture")},
	{name: "room", bounds: byCommand[bounds]{"watch": notNegative}, needs: in("watch", "capture")},
	{name: "since", values: paths, conflicts: in("heap", "out")},
	{name: "kind", strict: true, values: these(plot.Kinds...)},
	{name: "format", strict: true, of: formatsOf, stays: here},
	{name: "out", values: paths, stays: here},
	{name: "history", values: paths},
	{name: "capture", values: paths},

	{name: onFlag, stays: here},
	{name: "json", stays: here},
	{name: "seed", stays: hereOfLoad},
	{name: "steps", stays: hereOfLoad},
	{name: "latency", stays: here},
	{name: "page", stays: here},
	{name: "prometheus", stays: here},
	{name: "script", file: true},
	{name: "header-file", file: true},
	{name: "body-file", file: true},
	{name: "ca", file: true},
	{name: "save", oneHost: byCommand[string]{"": oneByOne, "load": oneRuns}},
	{name: "start", oneHost: onLoad("each host would load a server of its own")},
	{name: "unix", oneHost: onLoad("a socket of a host is reached there alone")},
	{name: "profile", oneHost: onLoad("the server is on another machine; see 'moonlap profile' there")},
	{name: "server-pid", oneHost: onLoad("the server is on another machine")},
}

// in are names that hold of a flag in one command; "" is every command.
func in(command string, names ...string) byCommand[[]string] {
	return byCommand[[]string]{command: names}
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
