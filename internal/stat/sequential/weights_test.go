package sequential

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// keptRun is what benchmarks/truth/quiet keeps of a run.
type keptRun struct {
	Started string
	Load    float64
	Cases   map[string]struct {
		Clean []float64 // by clean batches alone
		All   []float64
		Loud  []int
	}
}

// noYardsticks stands for the rule before: a process is located by its clean batches, and all pairs weigh the same.
const noYardsticks = 0

// TestWeightsOnKeptData prints how many pairs a verdict takes with each weight of quiet pairs, by the processes that
// benchmarks/truth/quiet has kept: that of the weight in use from few draws, of all from many (make weights). They stand in order of time; of two in a row it is drawn which is A. Of
// equal sides at most 5 % may be called different. Weight 0 is the rule without yardsticks.
func TestWeightsOnKeptData(t *testing.T) {
	t.Parallel()
	path, weights, draws := os.Getenv("MOONLAP_KEPT"), []int{noYardsticks, 1, 2, 3, 5}, 100
	if path == "" {
		path, weights, draws = "../../../benchmarks/truth/quiet/kept.jsonl", []int{quietWeight}, 5
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var runs []keptRun
	for line := range bytes.Lines(text) {
		var r keptRun
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b keptRun) int { return strings.Compare(a.Started, b.Started) })
	t.Log("weight: pairs to a verdict (found within 40), mean over cases: 2 % idle, 5 % idle, 2 % busy, 5 % busy; false alarms idle, busy")
	for _, weight := range weights {
		var took, found [4]float64
		var alarms [2]float64
		for busy := range 2 {
			for i, effect := range []float64{0.02, 0.05} {
				took[2*busy+i], found[2*busy+i] = overCases(runs, busy == 1, effect, weight, draws)
			}
			_, alarms[busy] = overCases(runs, busy == 1, 0, weight, draws)
			if alarms[busy] > 0.05+3*math.Sqrt(0.05*0.95/float64(10*draws)) { // three standard errors of ten cases or more
				t.Errorf("weight %d: %.1f %% false alarms", weight, 100*alarms[busy])
			}
		}
		t.Logf("| %d | %.1f (%.0f %%) | %.1f (%.0f %%) | %.1f (%.0f %%) | %.1f (%.0f %%) | %.1f %% | %.1f %% |", weight, took[0], 100*found[0],
			took[1], 100*found[1], took[2], 100*found[2], took[3], 100*found[3], 100*alarms[0], 100*alarms[1])
	}
}

// overCases is the mean over the cases of how many pairs a verdict took and how often there was one.
func overCases(runs []keptRun, busy bool, effect float64, weight, draws int) (took, found float64) {
	const most = 40
	cases := 0.0
	for name := range runs[0].Cases {
		var ns []float64
		var loud []bool
		for _, r := range runs {
			if busy != (r.Load >= 2) {
				continue
			}
			c := r.Cases[name]
			times := c.All
			if weight == noYardsticks {
				times = c.Clean
			}
			for i, x := range times {
				ns, loud = append(ns, math.Log(x)), append(loud, slices.Contains(c.Loud, i))
			}
		}
		if len(ns) < 2*most {
			continue
		}
		cases++
		for draw := range uint64(draws) {
			rng := rand.New(rand.NewPCG(draw, 11))
			at := rng.IntN(len(ns))
			process := func() (float64, bool) {
				at++
				return ns[at%len(ns)], loud[at%len(ns)]
			}
			pairs, differs := verdictAfter(process, rng, effect, weight, most)
			took += float64(pairs) / float64(draws)
			if differs {
				found += 1 / float64(draws)
			}
		}
	}
	return took / cases, found / cases
}
