package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/moonlap/moonlap/internal/bench"
	"github.com/moonlap/moonlap/internal/jsontext"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/stat"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/internal/stat/sequential"
	"github.com/moonlap/moonlap/internal/store"
)

type gateOptions struct {
	shared   benchOptions
	sides    sideFlags
	prove    bool
	gate     percentFlag
	slowdown percentFlag
}

// What the gate is proved on when no file is given: it allocates nothing and takes long
// enough for every clock.
const gateCode = "local x = 0 for i = 1, 200 do x = x + i * i % 7 end return x"

func newGateCommand(sys Sys) *cobra.Command {
	o := gateOptions{gate: 0.03, slowdown: 0.10}
	cmd := &cobra.Command{
		Use:   "gate --prove [flags] [FILE | -e CODE]",
		Short: "Prove that a gate passes what is equal and fails what is slower",
		Long: `Prove on this machine that 'moonlap compare --fail-if-slower' can be trusted.

Three sides are interleaved: a case, the same case, and the same case
slowed down by --slowdown, by spinning. The gate must pass the second and fail the
third. Both rates are printed with their 95 % intervals.

The gate can't be trusted, and the exit status is 1, when it fails equal sides more
often than 5 % explains, or finds less than 80 % of the slow-downs. --time is for
all repetitions together; --processes are a side in each repetition.`,
		Example: `  moonlap gate --prove
  moonlap gate --prove --fail-if-slower 5% --slowdown 12% --time 5m bench.lua
  moonlap gate --prove --filter '^router' bench.lua`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runGate(cmd, sys, &o, args)
		},
	}
	o.sides.addFlags(cmd, &o.shared)
	f := cmd.Flags()
	f.BoolVar(&o.prove, "prove", false, "prove it")
	f.Var(&o.gate, "fail-if-slower", "the gate to be proved")
	f.Var(&o.slowdown, "slowdown", "how much slower the third side is made")
	f.Lookup("time").Usage, f.Lookup("time").DefValue = "time for all repetitions together", "2m"
	f.Lookup("processes").Usage = "`N` fresh processes a side in each repetition (default 12)"
	for _, name := range []string{"rev", "laps"} {
		f.Lookup(name).Hidden = true
	}
	return cmd
}

func runGate(cmd *cobra.Command, sys Sys, o *gateOptions, args []string) error {
	switch {
	case !o.prove:
		return usageErrorf("gate proves a gate: moonlap gate --prove; the gate itself is 'moonlap compare --fail-if-slower 3%%'")
	case o.gate <= 0 || o.slowdown <= o.gate:
		return usageErrorf("--slowdown is above --fail-if-slower, and both are above 0")
	case len(args) > 1:
		return usageErrorf("one bench file, not %d", len(args))
	}
	base, err := o.base(cmd, sys, args)
	if err != nil {
		return err
	}
	proof := gateProof{known: store.ReadYardsticks(runtime.Environment(""), sys.Now())}
	line, started := newProgress(sys), time.Now()
	for elapsed := time.Duration(0); proof.Repetitions == 0 || elapsed+elapsed/time.Duration(proof.Repetitions) <= base.Time; {
		err = o.repeat(cmd.Context(), sys, base, &proof)
		elapsed = time.Since(started)
		line.Update(fmt.Sprintf("repetition %d", proof.Repetitions+1), elapsed, max(base.Time-elapsed, 0))
		if err != nil {
			break
		}
	}
	line.Clear()
	proof.judge(o)
	if proof.Repetitions > 0 {
		if writeErr := proof.write(sys.Stdout, o); writeErr != nil {
			return errors.Join(err, writeErr)
		}
	}
	if err == nil && !proof.Trusted {
		err = exitWith(ExitError, nil)
	}
	return err
}

// base is the side that all three are made from.
func (o *gateOptions) base(cmd *cobra.Command, sys Sys, args []string) (bench.Side, error) {
	s := setting{name: "gate", values: map[string]string{}, shared: cmd.Flags()}
	if len(args) == 1 {
		s.file = args[0]
	}
	for name, list := range o.sides.given {
		switch values := *list; {
		case name == "rev" && len(values) > 0 || len(values) > 1:
			return bench.Side{}, usageErrorf("%s: the gate is proved on one thing", flagName(name))
		case len(values) == 1:
			s.values[name] = values[0]
		}
	}
	if s.file == "" && s.values["eval"] == "" {
		s.values["eval"] = gateCode
	}
	kind := benchOptions{runtime: cmp.Or(s.values["runtime"], runtime.Auto)}
	if isGo, err := kind.isGo("", s.file); err != nil {
		return bench.Side{}, err
	} else if isGo {
		return bench.Side{}, usageErrorf("a Go benchmark cannot be slowed down: the gate is proved on Lua code")
	}
	side, _, err := s.open(cmd.Context(), sys, func(string) {})
	if side.Processes == 0 {
		side.Processes = 12
	}
	if f := cmd.Flags().Lookup("time"); !f.Changed {
		side.Time = 2 * time.Minute
	}
	return side, err
}

// timeEach makes processes shorter than those of compare, so that there are many repetitions.
const timeEach = 2 * time.Second

// repeat compares the three sides once, and counts what the gate says.
func (o *gateOptions) repeat(ctx context.Context, sys Sys, base bench.Side, proof *gateProof) error {
	rule := sequential.DefaultComparing()
	rule.FailIfSlower, rule.Processes = float64(o.gate), base.Processes
	m := bench.Measurement{Comparing: &rule, Note: func(string) {}}
	base.Time, base.Seed = timeEach, randomSeed()
	for _, name := range []string{"case", "same", "slowed"} {
		side := base
		if side.Name = name; name == "slowed" {
			side.Slowdown = float64(o.slowdown)
		}
		m.Sides = append(m.Sides, side)
	}
	// Describing the environment takes time, and nobody reads it.
	begun := record.Run{Schema: record.Schema, Yardsticks: proof.known.Best()}
	rec, err := bench.Run(ctx, m, begun, func(record.Line) error { return nil }, func(bench.Progress) {})
	var plan *bench.PlanError
	if errors.As(err, &plan) {
		printOutput(sys.Stderr, plan.Exit)
		return withRemedy(err)
	}
	if err != nil {
		return err
	}
	keepBest(sys, proof.known, rec)
	results := stat.Summarize(rec)
	if !results.Complete {
		return fmt.Errorf("a case fails or has no figure: see 'moonlap bench' with the same file")
	}
	failed := map[string]bool{}
	side := map[string]string{}
	for _, c := range rec.Cases {
		side[c.Name] = c.Side
	}
	for _, c := range stat.CompareTurns(rec, results) {
		failed[side[c.B]] = failed[side[c.B]] || sequential.TooSlow(c, rule.FailIfSlower)
		if side[c.B] == "slowed" {
			proof.ratios = append(proof.ratios, c.Ratio.Estimate)
		}
	}
	for _, c := range results.Cases {
		if c.Quiet != nil {
			proof.quiet = append(proof.quiet, c.Quiet.Share)
		}
	}
	proof.Repetitions++
	if failed["same"] {
		proof.Failed++
	}
	if failed["slowed"] {
		proof.Found++
	}
	return nil
}

// A gateProof is how often the gate said what.
type gateProof struct {
	Gate        float64         `json:"fail_if_slower"`
	Slowdown    float64         `json:"slowdown"`
	Repetitions int             `json:"repetitions"`
	Failed      int             `json:"equal_failed"`
	FailedRate  record.Interval `json:"equal_failed_rate"`
	Found       int             `json:"slowed_failed"`
	FoundRate   record.Interval `json:"slowed_failed_rate"`
	Measured    float64         `json:"slowdown_measured"` // median of the slowed sides
	Quiet       *float64        `json:"quiet,omitempty"`   // share of the time in which nothing slowed the machine; nil: not known
	Trusted     bool            `json:"trusted"`

	ratios []float64
	quiet  []float64 // of each case of each repetition
	known  *store.Yardsticks
}

const (
	leastFound       = 0.8 // of the slow-downs
	leastRepetitions = 6
)

func (p *gateProof) judge(o *gateOptions) {
	p.Gate, p.Slowdown = float64(o.gate), float64(o.slowdown)
	if len(p.ratios) > 0 {
		p.Measured = estimate.Median(p.ratios) - 1
	}
	if len(p.quiet) > 0 {
		share := estimate.Mean(p.quiet)
		p.Quiet = &share
	}
	p.FailedRate = estimate.Share(p.Failed, p.Repetitions)
	p.FoundRate = estimate.Share(p.Found, p.Repetitions)
	p.Trusted = p.Repetitions >= leastRepetitions && p.FailedRate.Low <= 1-estimate.Level && p.FoundRate.Estimate >= leastFound
}

func (p *gateProof) write(w io.Writer, o *gateOptions) error {
	if o.shared.format == "json" {
		return jsontext.Write(w, p)
	}
	rate := func(iv record.Interval) string {
		return fmt.Sprintf("%.0f %% (%.0f–%.0f %%)", 100*iv.Estimate, 100*iv.Low, 100*iv.High)
	}
	verdict := "The gate can be trusted here."
	switch {
	case p.Repetitions < leastRepetitions:
		verdict = fmt.Sprintf("Too few repetitions for a verdict: at least %d are needed; raise --time.", leastRepetitions)
	case p.FailedRate.Low > 1-estimate.Level:
		verdict = "Do not trust the gate here: it fails what is equal. Look what else runs on this machine."
	case !p.Trusted:
		verdict = "Do not trust the gate here: it lets slow-downs pass. Use more --processes, or a higher --fail-if-slower."
	}
	machine := ""
	if p.Quiet != nil {
		machine = fmt.Sprintf("  the machine         quiet for %.0f %% of the time; pairs of quiet processes weigh more\n", 100**p.Quiet)
	}
	_, err := fmt.Fprintf(w, "gate --fail-if-slower %s, repetitions: %d\n"+
		"  equal sides         failed %d of %d: %s\n"+
		"  a slow-down of %-5sfailed %d of %d: %s, measured %.1f %%\n%s%s\n",
		o.gate, p.Repetitions, p.Failed, p.Repetitions, rate(p.FailedRate),
		o.slowdown, p.Found, p.Repetitions, rate(p.FoundRate), 100*p.Measured, machine, verdict)
	return err
}
