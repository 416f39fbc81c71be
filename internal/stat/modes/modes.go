// Package modes finds the levels that processes of one case settle on.
package modes

import (
	"cmp"
	"math"
	"slices"

	"github.com/moonlap/moonlap/internal/stat/estimate"
)

// A Located is what the search for modes knows of a process, in ns per call.
type Located struct {
	NS    float64 // the process's location
	Floor float64 // its level without what disturbances added: a low quantile of its batches
	PM    float64 // ± of the location within the process
}

// Modes is the outcome of [FindModes].
type Modes struct {
	// Of holds each process's mode: 0 is the largest, the faster one first among equals.
	Of []int
	// Count is how many modes there are; 1 when there is no reason to see more.
	Count int
	// Alone are processes far from all others that are too few to be called a mode.
	Alone []int
}

const (
	mostModes = 4
	// With fewer processes than this, one process may be a mode of its own.
	loneModeBelow = 8
	// Modes are at least this far apart, relative to the faster, and in ns.
	leastModeGap = 0.03
	leastModeNS  = 0.3 // as exact as an empty function is reported to be
	// A gap must be N times the spread inside the modes beside it, the largest
	// gap inside them, and the noise of a process's location. Chosen by simulation:
	// modes_sim_test.go.
	gapToSpread = 4
	gapToGap    = 4.5
	gapToNoise  = 4
	// A lone process must be further away.
	loneFactor = 2
)

// A rule is how tight modes are. They are about equally tight; stragglers on a busy machine are not. A mode's relative
// spread is at most looser times the largest one's, or as small as tightness.
type rule struct{ looser, tightness float64 }

var (
	byTimes = rule{3, 0.015}
	loose   = rule{6, 0.06}
)

// FindModes groups processes by the level they settled on.
//
// Modes are clusters on the line with a gap between them that neither the noise of a
// process, nor the spread of the processes inside a mode, nor the gaps inside it can
// explain. The test is on the processes' floors: a process that shared its core with
// others is slower on the whole but not at its best, while one that compiled another
// trace is slower always. A right-skewed cloud has its gaps in its tail, the wider
// the further out, and so fails the comparison with the gaps inside; one process far
// out is reported as alone, unless there are so few that one can be all that was seen
// of a mode.
func FindModes(processes []Located) Modes { return find(processes, byTimes, true) }

// FindCandidates groups them where a mode may be looser than [FindModes] has it, or a single process among many. It is for
// who has other evidence of each, such as the traces that they compiled.
func FindCandidates(processes []Located) Modes { return find(processes, loose, false) }

func find(processes []Located, how rule, atLeastTwo bool) Modes {
	n := len(processes)
	m := Modes{Of: make([]int, n), Count: min(n, 1)}
	if n < 3 {
		return m
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(processes[a].Floor, processes[b].Floor) })
	line := make([]Located, n)
	for i, p := range order {
		line[i] = processes[p]
	}

	cuts := bestCuts(line, how)
	clusters := split(cuts, n)
	if n >= loneModeBelow && atLeastTwo {
		for i := 0; i < len(clusters); i++ {
			if c := clusters[i]; c[1]-c[0] == 1 {
				m.Alone = append(m.Alone, order[c[0]])
			}
		}
		// Where one straggles, two may straggle together.
		least := 2
		if len(m.Alone) > 0 {
			least = 3
		}
		cuts = withoutSmall(cuts, n, least)
		clusters = split(cuts, n)
	}
	slices.SortStableFunc(clusters, func(a, b [2]int) int { return (b[1] - b[0]) - (a[1] - a[0]) })
	for mode, c := range clusters {
		for i := c[0]; i < c[1]; i++ {
			m.Of[order[i]] = mode
		}
	}
	m.Count = len(clusters)
	slices.Sort(m.Alone)
	return m
}

// bestCuts returns the most cuts that all hold: the widest gaps of the sorted line.
func bestCuts(line []Located, how rule) []int {
	gaps := make([]int, 0, len(line)-1) // cut before index i
	for i := 1; i < len(line); i++ {
		gaps = append(gaps, i)
	}
	slices.SortStableFunc(gaps, func(a, b int) int { return cmp.Compare(gapAt(line, b), gapAt(line, a)) })
	for k := min(mostModes-1, len(gaps)); k > 0; k-- {
		cuts := slices.Clone(gaps[:k])
		slices.Sort(cuts)
		if cutsHold(line, cuts, how) {
			return cuts
		}
	}
	return nil
}

func gapAt(line []Located, i int) float64 { return line[i].Floor - line[i-1].Floor }

func cutsHold(line []Located, cuts []int, how rule) bool {
	clusters := split(cuts, len(line))
	pooled, inside := 0.0, 0.0
	for _, c := range clusters {
		pooled += squares(line[c[0]:c[1]])
		for i := c[0] + 1; i < c[1]; i++ {
			inside = max(inside, gapAt(line, i))
		}
	}
	degrees := len(line) - len(clusters)
	if degrees < 2 || !allTight(line, clusters, how) {
		return false
	}
	spread := math.Sqrt(pooled/float64(degrees)) * smallSample(degrees)
	noise := typicalNoise(line)
	for i, cut := range cuts {
		gap := gapAt(line, cut)
		left, right := line[clusters[i][0]:clusters[i][1]], line[clusters[i+1][0]:clusters[i+1][1]]
		need := max(gapToSpread*max(spread, own(left), own(right)), gapToGap*inside, gapToNoise*noise)
		if min(len(left), len(right)) == 1 {
			need *= loneFactor
		}
		if gap < need || gap < max(leastModeNS, leastModeGap*left[len(left)-1].Floor) {
			return false
		}
		if medianNS(right)-medianNS(left) < gap/4 {
			return false
		}
	}
	return true
}

// allTight reports whether each cluster is about as tight as the largest.
func allTight(line []Located, clusters [][2]int, how rule) bool {
	relative := func(c [2]int) float64 {
		if c[1]-c[0] < 2 {
			return 0
		}
		part := line[c[0]:c[1]]
		return math.Sqrt(squares(part)/float64(len(part)-1)) / scale(part[0])
	}
	largest := slices.MaxFunc(clusters, func(a, b [2]int) int { return (a[1] - a[0]) - (b[1] - b[0]) })
	bound := max(how.tightness, how.looser*relative(largest), 2*typicalNoise(line)/scale(line[largest[0]]))
	return !slices.ContainsFunc(clusters, func(c [2]int) bool { return relative(c) > bound })
}

// scale is what a relative spread is relative to: around zero, 1 ns.
func scale(p Located) float64 { return max(math.Abs(p.Floor), 1) }

// smallSample widens a spread that was estimated with few degrees of freedom: the
// chance that it came out too small by that factor is about one in twenty.
func smallSample(degrees int) float64 {
	d := float64(degrees)
	// Wilson & Hilferty's approximation of the 5 % quantile of chi-squared.
	quantile := d * math.Pow(1-2/(9*d)-1.645*math.Sqrt(2/(9*d)), 3)
	return math.Sqrt(d / max(quantile, 0.02))
}

// own is the standard deviation of the floors in a cluster that has enough of them
// to say something by itself.
func own(cluster []Located) float64 {
	if len(cluster) < 3 {
		return 0
	}
	return math.Sqrt(squares(cluster) / float64(len(cluster)-1))
}

func squares(cluster []Located) float64 {
	mean, sum := 0.0, 0.0
	for _, p := range cluster {
		mean += p.Floor / float64(len(cluster))
	}
	for _, p := range cluster {
		sum += (p.Floor - mean) * (p.Floor - mean)
	}
	return sum
}

func typicalNoise(line []Located) float64 {
	noise := make([]float64, len(line))
	for i, p := range line {
		noise[i] = p.PM
	}
	return estimate.Median(noise)
}

func medianNS(cluster []Located) float64 {
	ns := make([]float64, len(cluster))
	for i, p := range cluster {
		ns[i] = p.NS
	}
	return estimate.Median(ns)
}

// split turns cuts of 0…n into ranges [from, to).
func split(cuts []int, n int) [][2]int {
	var clusters [][2]int
	from := 0
	for _, c := range append(slices.Clone(cuts), n) {
		clusters = append(clusters, [2]int{from, c})
		from = c
	}
	return clusters
}

// withoutSmall takes back the cuts that set apart fewer than least processes.
func withoutSmall(cuts []int, n, least int) []int {
	var kept []int
	for i, c := range cuts {
		before, after := 0, n
		if i > 0 {
			before = cuts[i-1]
		}
		if i+1 < len(cuts) {
			after = cuts[i+1]
		}
		if c-before >= least && after-c >= least {
			kept = append(kept, c)
		}
	}
	return kept
}

// ProcessesToSee returns how many processes a run needs to see a mode of this share
// at least once with the given probability: 1-(1-share)^n >= probability. 59 for one
// in twenty at 95 %. 0 when share or probability lies outside 0…1.
func ProcessesToSee(share, probability float64) int {
	if !(share > 0 && share < 1 && probability > 0 && probability < 1) {
		return 0
	}
	return int(math.Ceil(math.Log(1-probability) / math.Log(1-share)))
}
