package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/moonlap/moonlap/internal/bench"
)

// makesSides holds of flags that make sides when they are given several times, as the bench flags of the same name.
func makesSides(r flagRule) bool { return r.sides }

// sideFlags are flags that may be given once a side.
type sideFlags struct {
	given     map[string]*[]string
	benchFrom string // "" is bench.FromTree, and says so where that makes a difference
}

// addFlags gives cmd the flags of bench: those that make sides as lists, the others as
// they are, with their values in shared.
func (s *sideFlags) addFlags(cmd *cobra.Command, shared *benchOptions) {
	s.given = map[string]*[]string{}
	f := cmd.Flags()
	f.StringArrayVar(s.list("rev"), "rev", nil, "git `REVISION`; . is the working tree")
	f.StringVar(&s.benchFrom, "bench-from", "", "`WHOSE` bench file revisions run: tree (the working tree's,\nthe default) or revision (each its own)")
	benchFlags(shared).VisitAll(func(flag *pflag.Flag) {
		switch {
		case ruleOf(flag.Name).alone:
		case ruleOf(flag.Name).sides:
			f.StringArrayVarP(s.list(flag.Name), flag.Name, flag.Shorthand, nil, flag.Usage)
		default:
			f.AddFlag(flag)
		}
	})
}

func (s *sideFlags) list(name string) *[]string {
	s.given[name] = new([]string)
	return s.given[name]
}

// benchFlags are the flags of 'moonlap bench', which set o.
func benchFlags(o *benchOptions) *pflag.FlagSet {
	*o = benchOptions{memory: o.memory}
	if o.memory == 0 {
		o.memory = defaultMemory
	}
	cmd := &cobra.Command{}
	o.addFlags(cmd)
	return cmd.Flags()
}

// A setting is all that was given for one side.
type setting struct {
	name   string
	file   string
	values map[string]string // of the flags that make sides, where given
	shared *pflag.FlagSet
	from   string // see sideFlags.benchFrom
	// tellsDirty: it is the first side, and none is the working tree.
	tellsDirty bool
}

// deal makes the sides: a list of n values is dealt to n sides, a single value to all.
func (s *sideFlags) deal(flags *pflag.FlagSet, files []string) ([]setting, error) {
	count, by := 1, ""
	lists := map[string][]string{"file": files}
	names := append([]string{"file"}, namesOf(makesSides)...)
	for _, name := range names[1:] {
		lists[name] = *s.given[name]
	}
	for _, name := range names {
		n := len(lists[name])
		if n < 2 {
			continue
		}
		if count > 1 && n != count {
			return nil, usageErrorf("%s makes %d sides, and %s %d", by, count, flagName(name), n)
		}
		count, by = n, flagName(name)
	}
	if s.benchFrom != "" {
		if err := oneOf("--bench-from", s.benchFrom, bench.FromTree, bench.FromRevision); err != nil {
			return nil, err
		}
	}
	switch {
	case len(files) > 0 && len(lists["eval"]) > 0:
		return nil, usageErrorf("bench files or -e CODE, not both")
	case len(files) == 0 && len(lists["eval"]) == 0:
		return nil, usageErrorf("compare what? Two bench files, one with --rev A --rev B, or -e CODE twice")
	case count == 1:
		return nil, usageErrorf("compare it with what? Give a second file, or --rev, --luajit, --jit or the like twice;\n" +
			"'moonlap bench --compare' compares the cases of one file")
	}
	settings := make([]setting, count)
	for i := range settings {
		settings[i] = setting{values: map[string]string{}, shared: flags, from: s.benchFrom}
		var called []string
		for _, name := range names {
			list := lists[name]
			if len(list) == 0 {
				continue
			}
			value := list[min(i, len(list)-1)]
			if name == "file" {
				settings[i].file = value
			} else {
				settings[i].values[name] = value
			}
			if len(list) > 1 {
				called = append(called, sideName(name, value, list))
			}
		}
		settings[i].name = strings.Join(called, " ")
	}
	settings[0].tellsDirty = !slices.Contains(lists["rev"], bench.WorkingTree)
	number(settings)
	return settings, nil
}

func flagName(name string) string {
	switch name {
	case "file":
		return "the number of files"
	case "eval":
		return "-e"
	}
	return "--" + name
}

// sideName is what a value calls its side: short, but apart from the others.
func sideName(name, value string, list []string) string {
	switch name {
	case "file", "luajit", "nginx", "go":
		base := filepath.Base(value)
		if !slices.ContainsFunc(list, func(other string) bool { return other != value && filepath.Base(other) == base }) {
			return base
		}
	case "jit":
		if value == "" {
			return "jit on"
		}
		return "jit " + value
	}
	if value == "" {
		return "none"
	}
	return cut(strings.Join(strings.Fields(value), " "), 40)
}

// number tells sides of the same name apart.
func number(settings []setting) {
	count := map[string]int{}
	for _, s := range settings {
		count[s.name]++
	}
	seen := map[string]int{}
	for i := range settings {
		if name := settings[i].name; count[name] > 1 {
			seen[name]++
			settings[i].name = fmt.Sprintf("%s#%d", name, seen[name])
		}
	}
}

// open makes a side ready to be measured: its flags as bench has them, its revision checked
// out, its runtime found. remove takes away what it made, also after an error.
func (s setting) open(ctx context.Context, sys Sys, note func(string)) (side bench.Side, remove func(), err error) {
	remove = func() {}
	var o benchOptions
	flags := benchFlags(&o)
	if err := s.set(flags); err != nil {
		return side, remove, err
	}
	file, commit, dir := s.file, "", ""
	if rev, ok := s.values["rev"]; ok && rev != bench.WorkingTree {
		below := ""
		if isGo, err := o.isGo(dir, file); err != nil {
			return side, remove, err
		} else if isGo {
			file, below = inCheckout(file)
		}
		tree, err := bench.Checkout(ctx, rev, file, cmp.Or(s.from, bench.FromTree))
		if err != nil {
			return side, remove, err
		}
		if tree.Replaced != "" && s.from == "" {
			note(fmt.Sprintf("--rev %s %s: it runs the working tree's, and so does each side; --bench-from revision runs its own", rev, tree.Replaced))
		}
		remove = func() {
			if err := tree.Remove(); err != nil {
				note(err.Error())
			}
		}
		file, commit, dir = tree.File+below, tree.Commit, tree.Dir
		if tree.Dirty && s.tellsDirty {
			note("the working tree has changes that no side holds; --rev . is the working tree")
		}
	}
	if err := o.completeIn(flags, dir, file); err != nil {
		return side, remove, fmt.Errorf("%s: %w", s.name, err)
	}
	o.Dir = dir
	close, err := o.openRuntime(ctx, sys)
	checkout := remove
	return bench.Side{Name: s.name, Commit: commit, Options: o.Options}, func() { close(); checkout() }, err
}

// set hands bench's flags what was given for this side and for all.
func (s setting) set(flags *pflag.FlagSet) error {
	var first error
	keep := func(err error) {
		if first == nil && err != nil {
			first = usageError(err)
		}
	}
	s.shared.Visit(func(f *pflag.Flag) {
		if to := flags.Lookup(f.Name); to != nil && !ruleOf(f.Name).sides {
			keep(flags.Set(f.Name, f.Value.String()))
		}
	})
	for name, value := range s.values {
		if name != "rev" && (value != "" || name == "jit") {
			keep(flags.Set(name, value))
		}
	}
	return first
}
