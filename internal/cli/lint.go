package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"

	"github.com/moonlap/moonlap/internal/lint"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/ui"
)

type lintOptions struct {
	luajit, nginx string
	config        string
	format        string
	baseline      string
	why, profile  string
	load          string
	loadTime      secondsFlag
	showConfig    bool
	lsp           bool
	all           bool
	fix, write    bool
	measure       bool
	rules         []string
	runs          int
	processes     int
	out           string
}

const lintHelp = `Read Lua files, folders and nginx.conf, and report what costs more than it must. Each
finding has its price: as measured on this machine by --measure, or else as shipped.
'moonlap rules' lists the rules.

nginx.conf is read with its includes, and the Lua in its blocks is linted at its own
lines. In folders all *.lua and nginx.conf are read. - is stdin.

A price is that of one call. Most rules report only code on the path of requests:
classes of paths say which code that is (--show-config). A module's own chunk runs at load.

A comment silences a rule at its line, or at the next one:

  -- moonlap: ignore regex-flags the pattern comes from one config
  -- moonlap: ignore-file global-written generated

.moonlap.lua in the project's folder turns rules on and off, adds classes and rules:

  return {
      rules = {["unpack"] = false, ["myth-table-insert"] = true},
      classes = {{"tools/**", "cli"}},
      exclude = {"vendor/**"},
      rule_folders = {"lint"},
  }

The rules of rule_folders are Lua, which runs without a sandbox: lint only projects
whose code you would run.`

const lintExamples = `  moonlap lint lua/ conf/nginx.conf
  moonlap lint --format github .
  moonlap lint --baseline lint.json lua/
  moonlap lint --why regex-flags
  moonlap lint --profile profile.json lua/
  moonlap lint --load http://127.0.0.1:8080/ lua/ conf/nginx.conf
  moonlap lint --measure
  moonlap lint --fix lua/ > changes.diff`

func newLintCommand(sys Sys) *cobra.Command {
	o := lintOptions{loadTime: secondsFlag(15 * time.Second)}
	cmd := &cobra.Command{
		Use:     "lint [flags] PATH… | --measure | --why RULE | --show-config",
		Short:   "Find slow idioms in Lua and nginx.conf, each with its price",
		Long:    lintHelp,
		Example: lintExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runLint(cmd.Context(), sys, o, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.luajit, "luajit", "", "`PATH` of the LuaJIT to use")
	f.StringVar(&o.nginx, "nginx", "", "`PATH` of the nginx to use for --measure")
	f.StringVar(&o.config, "config", "", "settings `FILE` (default: .moonlap.lua of the project)")
	f.StringVar(&o.format, "format", "text", "text, json, sarif or github")
	f.StringVar(&o.baseline, "baseline", "", "say nothing of the findings in `FILE`; where it does not\nexist, write it")
	f.StringVar(&o.profile, "profile", "", "rank by the time of each line in a profile: a `FILE` of\n'moonlap profile --format json', a capture's, or pages of\n'moonlap watch --top-lines --json'")
	f.StringVar(&o.load, "load", "", "put load on a `URL`, profile the server that listens there,\nand rank by what there is to gain a request")
	f.Var(&o.loadTime, "load-time", "with --load and --measure, how long nginx is under load at a\ntime")
	f.StringVar(&o.why, "why", "", "explain a `RULE`, with its pair and price")
	f.StringSliceVar(&o.rules, "rules", nil, "only these `RULES`, also where they are off")
	f.BoolVar(&o.all, "all", false, "also rules whose pairs show no difference")
	f.BoolVar(&o.showConfig, "show-config", false, "print settings and classes of paths, and lint nothing")
	f.BoolVar(&o.fix, "fix", false, "print a diff of the changes that surely keep the meaning")
	f.BoolVar(&o.write, "write", false, "with --fix, write the changes into the files")
	f.BoolVar(&o.lsp, "lsp", false, "be a language server on stdin and stdout")
	f.BoolVar(&o.measure, "measure", false, "measure the prices of the rules here, and keep them")
	f.StringVar(&o.out, "out", "", "with --measure, write the prices into `FILE`, too")
	f.IntVar(&o.runs, "runs", 2, "with --measure, runs a pair, whose spread is shown")
	f.IntVar(&o.processes, "processes", 8, "with --measure, fresh processes a side and run")
	return cmd
}

// linting is what every way of calling lint needs.
type linting struct {
	luajit   record.Runtime
	nginx    record.Runtime // with the Lua module; none where its Path is ""
	settings *lint.Settings
	rules    []lint.Rule // all
	prices   lint.Prices
	vm       string // that prices hold for
	machine  string
}

func openLinting(ctx context.Context, sys Sys, o lintOptions, paths []string) (*linting, error) {
	var l linting
	var err error
	options := runtime.Options{LuaJIT: o.luajit, Nginx: o.nginx, Path: sys.Getenv("PATH")}
	if l.luajit, err = runtime.Find(ctx, runtime.LuaJIT, options); err != nil {
		return nil, err
	}
	place := "."
	if len(paths) > 0 && paths[0] != lint.StdinName {
		place = paths[0]
	}
	if l.settings, err = lint.ReadSettings(l.luajit, place, o.config); err != nil {
		return nil, err
	}
	if l.rules, err = lint.Rules(l.settings.RuleFolders); err != nil {
		return nil, err
	}
	here := runtime.Environment("")
	l.machine = here.Machine
	l.vm = l.luajit.Version
	if nginx, err := runtime.Find(ctx, runtime.Nginx, options); err == nil {
		l.nginx = nginx
		l.vm += ", " + nginx.Version
	}
	if l.prices, err = lint.ReadPrices(l.vm, l.machine, here.CPU); err != nil {
		fmt.Fprintln(sys.Stderr, "moonlap: "+ui.Harmless(err.Error()))
	}
	return &l, l.known(l.settings.File, slices.Collect(maps.Keys(l.settings.Rules)))
}

// known refuses names that no rule has; where is what names them.
func (l *linting) known(where string, names []string) error {
	for _, name := range names {
		if l.rule(name) == nil {
			return fmt.Errorf("%s: there is no rule %q; 'moonlap rules' lists them", where, name)
		}
	}
	return nil
}

func (l *linting) rule(name string) *lint.Rule {
	for i := range l.rules {
		if l.rules[i].Name == name {
			return &l.rules[i]
		}
	}
	return nil
}

// on are the rules that run.
func (l *linting) on(o lintOptions) (on []lint.Rule) {
	for _, r := range l.rules {
		setting, set := l.settings.Rules[r.Name]
		if r.OnlyWhenAsked() && !l.asked(o)(r.Name) {
			continue
		}
		if len(o.rules) > 0 && !slices.Contains(o.rules, r.Name) || len(o.rules) == 0 && set && !setting {
			continue
		}
		on = append(on, r)
	}
	return on
}

func runLint(ctx context.Context, sys Sys, o lintOptions, args []string) error {
	pathless := o.measure || o.why != "" || o.lsp
	switch {
	case len(args) == 0 && !pathless && !o.showConfig:
		return usageErrorf("which files or folders?")
	case len(args) > 0 && pathless:
		return usageErrorf("--measure, --why and --lsp take no paths")
	}
	l, err := openLinting(ctx, sys, o, args)
	if err != nil {
		return err
	}
	if err := l.known("--rules", o.rules); err != nil {
		return usageError(err)
	}
	switch {
	case o.measure:
		return l.measure(ctx, sys, o)
	case o.why != "":
		return l.why(sys, o.why)
	case o.showConfig:
		return l.showConfig(sys)
	case o.lsp:
		return l.serve(sys, o)
	}
	return l.lint(ctx, sys, o, args)
}

// asked reports whether a rule was asked for, whatever its price.
func (l *linting) asked(o lintOptions) func(string) bool {
	return func(rule string) bool {
		return o.all || slices.Contains(o.rules, rule) || l.settings.Rules[rule]
	}
}

func (l *linting) lint(ctx context.Context, sys Sys, o lintOptions, paths []string) error {
	var loaded lint.Measured
	if o.load != "" {
		var err error
		if loaded, err = o.underLoad(ctx, sys); err != nil {
			return err
		}
	}
	report, err := lint.Run(ctx, lint.Options{LuaJIT: l.luajit, Paths: paths, Settings: l.settings, Rules: l.on(o), Stdin: sys.Stdin})
	if err != nil {
		return err
	}
	report.Apply(l.prices, l.asked(o))
	if o.baseline != "" {
		made, err := report.Subtract(o.baseline, l.settings.Root)
		if err != nil {
			return err
		}
		if made {
			fmt.Fprintf(sys.Stderr, "moonlap: %s is written, with %s\n", o.baseline, ui.Plural(report.Known, "finding", "findings"))
		}
	}
	if o.profile != "" {
		m, err := o.measured(ctx, sys, o.profile)
		if err != nil {
			return err
		}
		report.Join(m, l.on(o))
	}
	if o.load != "" {
		report.Join(loaded, l.on(o))
	}
	report.Rank()
	for _, f := range report.Faults {
		fmt.Fprintf(sys.Stderr, "moonlap: %s\n", ui.Harmless(f.Error()))
	}
	if o.fix {
		return l.fix(sys, report, o.write)
	}
	if err := report.Write(sys.Stdout, o.format, version, l.rules, reportOptions(sys), sys.Now()); err != nil {
		return err
	}
	return l.outcome(report)
}

// outcome is the exit code: a file that could not be read weighs more than findings.
func (l *linting) outcome(report *lint.Report) error {
	switch {
	case len(report.Faults) > 0:
		return exitWith(ExitPartial, nil)
	case report.Failing():
		return exitWith(ExitRegression, nil)
	}
	return nil
}

func (l *linting) showConfig(sys Sys) error {
	p := ui.NewPage(reportOptions(sys))
	file := cmp.Or(l.settings.File, "none: "+lint.SettingsFile+" in "+l.settings.Root+" would be read")
	p.Line("settings  " + ui.Clean(file))
	p.Line("project   " + ui.Clean(l.settings.Root))
	p.Blank()
	p.Line("classes of paths; the first that matches counts, and what none matches is " + lint.Request)
	for _, c := range l.settings.AllClasses() {
		p.Line("  " + c.String())
	}
	builtIns, err := lint.BuiltIns(l.luajit)
	if err != nil {
		return err
	}
	p.Blank()
	p.Line("calls of built-in functions on " + ui.Clean(l.luajit.Version))
	for _, outcome := range lint.Outcomes {
		var names []string
		for _, name := range slices.Sorted(maps.Keys(builtIns)) {
			if builtIns[name] == outcome {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			p.Para(fmt.Sprintf("  %-12s ", outcome), strings.Join(names, " "), lipgloss.NewStyle())
		}
	}
	p.Blank()
	p.Line("rules that are off")
	for _, r := range l.rules {
		if on, set := l.settings.Rules[r.Name]; set && !on {
			p.Line("  " + r.Name)
		} else if r.OnlyWhenAsked() && !on {
			p.Line("  " + r.Name + ": only when asked")
		} else if l.prices.Silence(r.Name) && !on {
			p.Line("  " + r.Name + ": no difference on this VM")
		}
	}
	return p.Write(sys.Stdout)
}

func (l *linting) why(sys Sys, name string) error {
	r := l.rule(name)
	if r == nil {
		return usageErrorf("there is no rule %q; 'moonlap rules' lists them", name)
	}
	p := ui.NewPage(reportOptions(sys))
	p.Line(r.Name)
	if price := l.prices[name]; price != nil {
		p.Line(price.Text(p.Glyphs, sys.Now()))
	}
	p.Blank()
	for line := range strings.Lines(strings.TrimRight(r.About, "\n")) {
		p.Line(strings.TrimSuffix(line, "\n"))
	}
	for _, side := range [][2]string{{"bad", r.Bad}, {"good", r.Good}} {
		if side[1] == "" {
			continue
		}
		p.Blank()
		p.Line(side[0])
		for line := range strings.Lines(strings.TrimRight(side[1], "\n")) {
			p.Line("    " + strings.TrimSuffix(line, "\n"))
		}
	}
	return p.Write(sys.Stdout)
}

// fix prints what can be changed, as a diff, and changes it where it is asked to.
func (l *linting) fix(sys Sys, report *lint.Report, write bool) error {
	changes, err := lint.Fixes(l.luajit, report.Findings)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if _, err := fmt.Fprint(sys.Stdout, c.Diff()); err != nil {
			return err
		}
		if write {
			if err := c.Write(); err != nil {
				return err
			}
		}
	}
	verb := "would change"
	if write {
		verb = "changed"
	}
	fmt.Fprintf(sys.Stderr, "moonlap: %s %s; %s\n", verb, ui.Plural(len(changes), "file", "files"),
		ui.Plural(len(report.Findings)-lint.Fixable(report.Findings), "finding is", "findings are")+" for you to change")
	if len(report.Faults) > 0 {
		return exitWith(ExitPartial, nil)
	}
	return nil
}
