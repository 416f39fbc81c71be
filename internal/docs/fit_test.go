package docs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const report = `  case              time per call      p50      p99  memory  JIT
  re_find         30.88 ± 0.16 ns  30.9 ns  35.9 ns     0 B  3 root
    17 % of processes     41.0 ns

re_find
  ran      examples/re_find.lua:10 · 7 processes · steady after
           warming up
  time     30.88 ± 0.16 ns per call · empty loop 0.821 ± 0.001 ns taken off
  modes    83 % of processes  30.9 ns
           17 % of processes  41.0 ns · trace starts at a.lua:1
           through lines 1-2
  memory   0 B allocated per call

    28.0 ns   77  ████████▍
          ⋮
  ≥ 40.0 ns    1  ▏

comparisons
  b against a
    no measurable difference (within ±0.4 %) · 7 pairs of processes

notes
  ! The machine was busy.
    → Wait.`

const another = `  case      time per call      p50      p99  memory  JIT
  re_find     1.2 ± ? µs   1.1 µs   1.3 µs     0 B  compiled

re_find
  ran      examples/re_find.lua:10 · 12 processes · steady from the start
  time     1.2 ± ? µs per call · empty loop 0.8 ± 0.1 ns taken off
  memory   12 B allocated per call

    1.00 µs   77  ████████▍

comparisons
  b against a
    1.5× faster (1.4–1.6) · 7 pairs of processes
`

func TestFit(t *testing.T) {
	for _, c := range []struct{ name, shown, actual, want string }{
		{"another run", report, another, another},
		{"and back", another, report, report},
		{"elided around", "…\nre_find\n  ran      examples/re_find.lua:10 · 9 processes · steady from the start\n…", another,
			"…\nre_find\n  ran      examples/re_find.lua:10 · 12 processes · steady from the start\n…"},
		{"elided end", "  case      time per call      p50      p99  memory  JIT\n…", another,
			"  case      time per call      p50      p99  memory  JIT\n…"},
		{"plain", "took 0 ms", "took 12 ms", "took 12 ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := fit(strings.Split(c.shown, "\n"), strings.Split(c.actual, "\n"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(c.want, "\n"), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFitRefuses(t *testing.T) {
	for _, c := range []struct{ name, shown, actual string }{
		{"another word", "took 0 ms", "lasted 0 ms"},
		{"a line too many", "a\nb", "a"},
		{"a line too few", "a", "a\nb"},
		{"another case", report, strings.ReplaceAll(another, "re_find", "re_match")},
		{"a column gone", report, strings.Replace(another, "   1.3 µs", "", 1)},
		{"no histogram", report, strings.Replace(another, "    1.00 µs   77  ████████▍\n", "", 1)},
		{"no comparison", report, strings.Split(another, "comparisons")[0]},
		{"never found", "…\nx\n…", "a\nb"},
		{"wrong order", "…\nb\n…\na", "a\nb"},
		{"a case failed", report, strings.Replace(another, "1.2 ± ? µs   1.1", "failed   1.1", 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := fit(strings.Split(c.shown, "\n"), strings.Split(c.actual, "\n")); err == nil {
				t.Errorf("fitted as\n%s", strings.Join(got, "\n"))
			}
		})
	}
}
