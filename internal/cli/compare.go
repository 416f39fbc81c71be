package cli

import (
	"github.com/spf13/cobra"

	"github.com/moonlap/moonlap/internal/bench"
)

type compareOptions struct {
	shared benchOptions // flags that hold for all sides
	sides  sideFlags
	rule   ruleFlags
}

func newCompareCommand(sys Sys) *cobra.Command {
	var o compareOptions
	cmd := &cobra.Command{
		Use:   "compare [flags] A.lua B.lua… | FILE --rev A --rev B… | -e A -e B…",
		Short: "Compare the speed of files, revisions, VMs or configurations",
		Long: `Compare two or more sides: bench files, Go packages, pieces of code, git revisions,
VMs, JIT options or nginx configurations.

What is given several times makes the sides, in order: bench files or packages, and
the flags -e, --setup, --rev, --runtime, --luajit, --nginx, --go, --jit, --http-conf,
--main-conf and --phase. What is given once holds for all sides. The other sides are compared
with the first, case by case, by name; where each has one case, names do not matter.

The sides are interleaved in random order, each process a fresh VM. A comparison ends
as soon as it is decided, or at its time; checking early does not raise the rate of
false alarms. The verdict is one of

  1.031× slower (1.024–1.038)               the ratio's interval excludes 1
  no measurable difference (within ±0.8 %)  it lies within --min-effect
  undecided: needs about 40 more processes

--rev checks a revision out into a temporary worktree; --rev . is the working tree
as it is. Modules are found from the same folder there; absolute paths in LUA_PATH
are not moved. The bench file is the working tree's on every side, so that all are
measured alike; a notice says where a revision has another one, or none.
--bench-from revision takes each revision's own.`,
		Example: `  moonlap compare old.lua new.lua
  moonlap compare bench.lua --rev main --rev .
  moonlap compare ./go/package --rev main --rev .
  moonlap compare -e 'require("route").match("/a/b")' --rev main --rev .
  moonlap compare bench.lua --luajit /usr/bin/luajit --luajit ./luajit
  moonlap compare bench.lua --jit '' --jit off
  moonlap compare shm.lua --http-conf @small.conf --http-conf @big.conf
  moonlap compare -e 'ngx.md5("hello")' -e 'ngx.crc32_long("hello")'
  moonlap compare bench.lua --rev origin/main --rev HEAD --fail-if-slower 3%`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCompare(cmd, sys, &o, args)
		},
	}
	o.addFlags(cmd)
	return measuredOnHosts(sys, cmd)
}

func (o *compareOptions) addFlags(cmd *cobra.Command) {
	o.sides.addFlags(cmd, &o.shared)
	f := cmd.Flags()
	f.Lookup("processes").Usage = "exactly `N` fresh processes a side, instead of --time"
	f.Lookup("time").Usage = "time budget a case and side"
	o.rule.addFlags(f, "a side")
}

func runCompare(cmd *cobra.Command, sys Sys, o *compareOptions, args []string) error {
	o.shared.judging = o.rule.rule(o.shared.Processes)
	settings, err := o.sides.deal(cmd.Flags(), args)
	if err != nil {
		return err
	}
	m := bench.Measurement{Comparing: o.shared.judging, Note: noting(sys)}
	for _, s := range settings {
		side, remove, err := s.open(cmd.Context(), sys, m.Note)
		defer func() { remove() }()
		if err != nil {
			return err
		}
		m.Sides = append(m.Sides, side)
	}
	return o.shared.measuring(m, "compare").run(cmd.Context(), sys)
}
