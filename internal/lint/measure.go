package lint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/moonlap/moonlap/internal/bench"
	"github.com/moonlap/moonlap/internal/record"
	"github.com/moonlap/moonlap/internal/runtime"
	"github.com/moonlap/moonlap/internal/stat"
	"github.com/moonlap/moonlap/internal/stat/sequential"
)

// A Measuring says how prices are measured.
type Measuring struct {
	// Open makes the options of a side out of a bench file, flags in its first lines included.
	Open func(ctx context.Context, file string) (bench.Options, error)
	// Load compares two configurations of nginx by the server's CPU time a request: what good takes, and bad's ratio to it.
	Load func(ctx context.Context, good, bad string) (Loaded, error)
	// Processes are those of a side and run: at least 6, or there is no interval.
	Processes, Runs int
	// VM, Machine and CPU are what the prices are kept for.
	VM, Machine, CPU string
	Now              func() time.Time
	Progress         func(rule string, p bench.Progress)
}

// Measure takes the price of a rule: its pair, interleaved, in several runs. The interval is that of the run whose estimate is
// in the middle; how far the runs are apart is in Runs.
func (m Measuring) Measure(ctx context.Context, r Rule) (*Price, error) {
	if r.Bad == "" || r.Good == "" || r.Conf && r.Fact("Measured") == "" {
		return nil, nil
	}
	folder, err := runtime.NewFolder()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	once := m.underLoad
	if !r.Conf {
		if once, err = m.calls(ctx, r, folder); err != nil {
			return nil, err
		}
	}
	var prices []*Price
	for range m.Runs {
		p, err := once(ctx, r, folder)
		if err != nil {
			return nil, err
		}
		p.Rule, p.Measured, p.VM, p.Machine, p.CPU = r.Name, m.Now().UTC().Truncate(time.Second), m.VM, m.Machine, m.CPU
		prices = append(prices, p)
	}
	return middle(prices), nil
}

// middle is the price of the run whose estimate is in the middle, with those of all.
func middle(prices []*Price) *Price {
	runs := make([]float64, len(prices))
	for i, p := range prices {
		runs[i] = p.Difference.Estimate
	}
	slices.SortFunc(prices, func(a, b *Price) int { return cmp.Compare(a.Difference.Estimate, b.Difference.Estimate) })
	middle := prices[len(prices)/2]
	middle.Runs = runs
	// Runs that do not agree leave the price undecided, between what any of them found.
	low, high, agree := middle.Difference.Low, middle.Difference.High, true
	for _, p := range prices {
		agree = agree && p.Verdict == middle.Verdict
		low, high = min(low, p.Difference.Low), max(high, p.Difference.High)
	}
	if !agree {
		middle.Verdict, middle.Difference.Low, middle.Difference.High = record.Undecided, low, high
	}
	return middle
}

// A Loaded is what a comparison of two configurations under load came to.
type Loaded struct {
	GoodNS  float64 // CPU time a request
	Ratio   record.Interval
	Verdict string
}

// underLoad takes the price of a pair of configurations once.
func (m Measuring) underLoad(ctx context.Context, r Rule, folder string) (*Price, error) {
	good, bad := filepath.Join(folder, "good.conf"), filepath.Join(folder, "bad.conf")
	for file, text := range map[string]string{good: r.Good, bad: r.Bad} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	l, err := m.Load(ctx, good, bad)
	if err != nil {
		return nil, fmt.Errorf("the pair of the rule %s: %w", r.Name, err)
	}
	more := func(ratio float64) float64 { return l.GoodNS * (ratio - 1) }
	return &Price{Per: "request", Good: l.GoodNS, Bad: l.GoodNS * l.Ratio.Estimate, Verdict: l.Verdict,
		Difference: record.Interval{Estimate: more(l.Ratio.Estimate), Low: more(l.Ratio.Low), High: more(l.Ratio.High)}}, nil
}

// calls prepares a pair of bench files, and returns what takes their price once.
func (m Measuring) calls(ctx context.Context, r Rule, folder string) (func(context.Context, Rule, string) (*Price, error), error) {
	var sides []bench.Side
	for _, side := range [][2]string{{"good", r.Good}, {"bad", r.Bad}} { // what is advised is what the other is compared with
		file := filepath.Join(folder, side[0]+".lua")
		if err := os.WriteFile(file, []byte(side[1]), 0o600); err != nil {
			return nil, err
		}
		options, err := m.Open(ctx, file)
		if err != nil {
			return nil, fmt.Errorf("%s of the rule %s: %w", side[0], r.Name, err)
		}
		options.Processes, options.Seed = m.Processes, rand.Uint64N(1<<53)
		sides = append(sides, bench.Side{Name: side[0], Options: options})
	}
	return func(ctx context.Context, r Rule, _ string) (*Price, error) { return m.once(ctx, r, sides) }, nil
}

func (m Measuring) once(ctx context.Context, r Rule, sides []bench.Side) (*Price, error) {
	rule := sequential.DefaultComparing()
	rule.Processes = m.Processes
	opening := record.Run{Schema: record.Schema, Kind: "compare", Started: m.Now().Format(time.RFC3339)}
	rec, err := bench.Run(ctx, bench.Measurement{Sides: sides, Comparing: &rule, Note: func(string) {}}, opening,
		func(record.Line) error { return nil }, func(p bench.Progress) { m.Progress(r.Name, p) })
	if err != nil {
		return nil, fmt.Errorf("the pair of the rule %s: %w", r.Name, err)
	}
	results := stat.Summarize(rec)
	comparisons := stat.CompareTurns(rec, results)
	if len(comparisons) != 1 || comparisons[0].DifferenceNS == nil {
		for _, p := range rec.Processes {
			for _, f := range p.Faults {
				return nil, fmt.Errorf("the pair of the rule %s: %s", r.Name, f.Text)
			}
		}
		return nil, fmt.Errorf("the pair of the rule %s: %w", r.Name, errNoPrice)
	}
	c := comparisons[0]
	price := &Price{Difference: *c.DifferenceNS, Verdict: c.Verdict}
	for _, one := range results.Cases {
		if one.NSPerCall == nil {
			continue
		}
		if one.Name == c.A {
			price.Good = one.NSPerCall.Estimate
		} else {
			price.Bad = one.NSPerCall.Estimate
		}
	}
	return price, nil
}

var errNoPrice = errors.New("too few processes of it have a figure: give it more --processes")
