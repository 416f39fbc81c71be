package heap

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/memory"
)

func graphOf(successors [][]int32) *digraph {
	g := &digraph{first: []uint32{0}}
	for _, s := range successors {
		g.to = append(g.to, s...)
		g.first = append(g.first, uint32(len(g.to)))
	}
	return g
}

// reach tells which vertices paths from 0 lead to that avoid a vertex.
func reach(g *digraph, avoided int32) []bool {
	seen := make([]bool, g.size())
	var visit func(int32)
	visit = func(v int32) {
		if v == avoided || seen[v] {
			return
		}
		seen[v] = true
		for _, w := range g.successors(v) {
			visit(w)
		}
	}
	visit(0)
	return seen
}

// dominatorsByRemoval follows the definition: d dominates v when v cannot be reached without d. The
// immediate one is dominated by all others.
func dominatorsByRemoval(g *digraph) []int32 {
	all := memory.Filled[int32](nil, g.size(), none)
	reached := reach(g, none)
	without := make([][]bool, g.size())
	for d := range without {
		without[d] = reach(g, int32(d))
	}
	dominates := func(d, v int) bool { return d != v && reached[v] && reached[d] && !without[d][v] }
	for v := 1; v < g.size(); v++ {
		for d := range g.size() {
			if !dominates(d, v) {
				continue
			}
			if all[v] == none || dominates(int(all[v]), d) {
				all[v] = int32(d)
			}
		}
	}
	return all
}

func TestDominators(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 24).Draw(t, "vertices")
		edges := rapid.SliceOfN(rapid.SliceOfN(rapid.Int32Range(0, int32(n)-1), 0, 4), n, n).Draw(t, "successors")
		g := graphOf(edges)
		want := dominatorsByRemoval(g)
		got := dominators(g, nil)
		if !slices.Equal(got, want) {
			t.Fatalf("dominators %v, by the definition %v", got, want)
		}
	})
}

// The example of Lengauer and Tarjan's paper, figure 1: R A B C D E F G H I J K L.
func TestDominatorsOfThePaper(t *testing.T) {
	const names = "RABCDEFGHIJKL"
	successors := map[byte]string{
		'R': "ABC", 'A': "D", 'B': "ADE", 'C': "FG", 'D': "L", 'E': "H", 'F': "I", 'G': "IJ", 'H': "EK",
		'I': "K", 'J': "I", 'K': "IR", 'L': "H",
	}
	at := func(c byte) int32 { return int32(slices.Index([]byte(names), c)) }
	edges := make([][]int32, len(names))
	for from, list := range successors {
		for _, to := range []byte(list) {
			edges[at(from)] = append(edges[at(from)], at(to))
		}
	}
	got := dominators(graphOf(edges), nil)
	want := map[byte]byte{
		'A': 'R', 'B': 'R', 'C': 'R', 'D': 'R', 'E': 'R', 'F': 'C', 'G': 'C', 'H': 'R', 'I': 'R', 'J': 'G', 'K': 'R', 'L': 'D',
	}
	for v, d := range want {
		if got[at(v)] != at(d) {
			t.Errorf("the dominator of %c is %c, not %c", v, names[got[at(v)]], d)
		}
	}
}

// TestDominatorsOfLongPaths: neither a long list nor one with ways back runs out of stack or of time.
func TestDominatorsOfLongPaths(t *testing.T) {
	const n = 500_000
	edges := make([][]int32, n)
	for v := range int32(n - 1) {
		edges[v] = []int32{v + 1, v / 2, 0}
	}
	got := dominators(graphOf(edges), nil)
	for v := 1; v < n; v++ {
		if got[v] != int32(v-1) {
			t.Fatalf("the dominator of %d is %d", v, got[v])
		}
	}
}
