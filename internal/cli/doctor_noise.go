package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/moonlap/moonlap/internal/bench"
	"github.com/moonlap/moonlap/internal/jsontext"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/stat/estimate"
	"github.com/moonlap/moonlap/internal/stat/quiet"
	"github.com/moonlap/moonlap/internal/ui"
)

// noised is what --noise --json writes.
type noised struct {
	Schema     string    `json:"schema"`
	Kind       string    `json:"kind"`
	ElapsedNS  float64   `json:"elapsed_ns"`
	Quiet      float64   `json:"quiet"`      // share of the timings
	Stretches  []float64 `json:"stretches"`  // how long each disturbance lasted, ns
	SlowerLow  float64   `json:"slower_low"` // in these, by so much: 0.08 is 8 %
	SlowerHigh float64   `json:"slower_high"`
	Course     []float64 `json:"course"` // share of the timings that were not quiet, over equal parts of the time
}

// runNoise measures a benchmark that does next to nothing for a time, and shows what its yardsticks saw.
func runNoise(ctx context.Context, sys Sys, o doctorOptions) error {
	luajit, err := runtime.Find(ctx, runtime.LuaJIT, runtime.Options{LuaJIT: o.luajit, Path: sys.Getenv("PATH")})
	if err != nil {
		return err
	}
	options := bench.Options{
		Code: []string{"1"}, Runtime: luajit, Workers: []int{1}, GC: "natural", Clock: "auto", MemoryBytes: 1 << 30,
		Time: o.noise, Precision: 1e-9, Timeout: 30 * time.Second,
	}
	rec, err := runMeasured(ctx, sys, bench.Measurement{Sides: []bench.Side{{Options: options}}}, opening(sys, "bench", ""),
		func(record.Line) error { return nil }, func(bench.Progress) string { return "listening" })
	if err != nil {
		return err
	}
	n, ok := quiet.NoiseOf(rec, 60)
	if !ok {
		return fmt.Errorf("there are no yardsticks here: they take x86-64 and a kernel that trusts the time-stamp counter (moonlap doctor: clock)")
	}
	if o.json {
		return jsontext.Write(sys.Stdout, noised{record.Schema, "noise", n.NS, n.Share, append([]float64{}, n.Stretches...), n.SlowerLow, n.SlowerHigh, n.Course})
	}
	p := ui.NewPage(reportOptions(sys))
	p.Para("", noiseText(p, n), lipgloss.NewStyle())
	if len(n.Stretches) > 0 {
		p.Blank()
		p.Line("  " + strings.TrimSpace(p.Spark(n.Course, 1)) + "  share slowed")
		p.Line(fmt.Sprintf("  %-52s%8s", "0", p.Time(n.NS)))
	}
	return p.Write(sys.Stdout)
}

func noiseText(p *ui.Page, n quiet.Noise) string {
	if len(n.Stretches) == 0 {
		return fmt.Sprintf("Quiet for %s: nothing slowed this machine.", p.Time(n.NS))
	}
	return fmt.Sprintf("Quiet for %.0f %% of %s. Slowed %s, for %s (the longest %s), by %.0f to %.0f %%.",
		100*n.Share, p.Time(n.NS), ui.Plural(len(n.Stretches), "time", "times"), p.Time(estimate.Median(n.Stretches)), p.Time(slices.Max(n.Stretches)),
		100*n.SlowerLow, 100*n.SlowerHigh)
}
