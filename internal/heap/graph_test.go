package heap

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A model is a heap in plain Go: the first objects are roots.
type model struct {
	roots   int
	sizes   []int64
	refs    [][]int
	passing []bool
	leaves  bool
	asked   []int // for their references
}

func (m *model) Len() int                { return len(m.sizes) }
func (m *model) Size(object int) int64   { return m.sizes[object] }
func (m *model) Passing(object int) bool { return m.passing[object] }

// Leaf: each third object is a string. See Describe.
func (m *model) Leaf(object int) bool { return m.leaves && object%3 == 1 }
func (m *model) Roots(found func(int, uint64)) {
	for i := range m.roots {
		found(i, uint64(i))
	}
}
func (m *model) References(object int, found func(int, uint64)) {
	m.asked = append(m.asked, object)
	for i, to := range m.refs[object] {
		found(to, uint64(i))
	}
}

// alive is how many bytes the roots keep alive without an object.
func (m *model) alive(without int) (bytes int64, seen map[int]bool) {
	seen = map[int]bool{}
	var visit func(int)
	visit = func(i int) {
		if i == without || seen[i] {
			return
		}
		seen[i] = true
		bytes += m.sizes[i]
		for _, to := range m.refs[i] {
			visit(to)
		}
	}
	for i := range m.roots {
		visit(i)
	}
	return bytes, seen
}

func drawModel(t *rapid.T) *model {
	n := rapid.IntRange(1, 20).Draw(t, "objects")
	m := &model{
		leaves:  rapid.Bool().Draw(t, "leaves"),
		roots:   rapid.IntRange(1, n).Draw(t, "roots"),
		sizes:   rapid.SliceOfN(rapid.Int64Range(1, 1000), n, n).Draw(t, "sizes"),
		passing: rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "passing"),
		refs:    rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 3), n, n).Draw(t, "references"),
	}
	for i := range n {
		if m.Leaf(i) {
			m.refs[i], m.passing[i] = nil, false
		}
	}
	return m
}

// TestHeld: what an object holds is what would be free without it.
func TestHeld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		g := build(m, nil)
		all, seen := m.alive(none)
		if g.held[0] != all {
			t.Fatalf("the roots hold %d bytes of %d", g.held[0], all)
		}
		for i := range m.sizes {
			if g.Alive(i) != seen[i] {
				t.Fatalf("object %d: alive is %v", i, g.Alive(i))
			}
			without, _ := m.alive(i)
			if want := all - without; !m.Leaf(i) && g.Held(i) != want {
				t.Fatalf("object %d holds %d bytes, want %d", i, g.Held(i), want)
			}
		}
	})
}

// TestPaths: each path leads from a root over references that are there. It goes through no passing object
// where another one does not, and of those it is a shortest.
func TestPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		g := build(m, nil)
		leaves := map[int]leaf{}
		g.eachLeaf(func(l leaf) { leaves[l.object] = l })
		distance := map[int]int{} // over objects that stay
		var level []int
		for i := range m.roots {
			distance[i], level = 0, append(level, i)
		}
		for d := 1; len(level) > 0; d++ {
			var next []int
			for _, i := range level {
				if m.passing[i] {
					continue
				}
				for _, to := range m.refs[i] {
					if _, ok := distance[to]; !ok {
						distance[to], next = d, append(next, to)
					}
				}
			}
			level = next
		}
		for i := range m.sizes {
			if !g.Alive(i) {
				continue
			}
			r := int32(0)
			steps, passing := 0, false
			if m.Leaf(i) {
				l := leaves[i]
				if r = l.parent; r != 0 {
					from := g.object(r)
					if !slices.Contains(m.refs[from], i) {
						t.Fatalf("no reference of %d to %d", from, i)
					}
					steps, passing = 1, m.passing[from]
				}
			} else {
				r = g.rankOf(i)
			}
			var path []int32
			for up := r; up != 0; up = g.parent[up] {
				path = append(path, up)
			}
			hows := g.hows(m, path)
			for ; r != 0 && g.parent[r] != 0; r = g.parent[r] {
				from, to := g.from(r), g.object(r)
				if m.refs[from][hows[r]] != to {
					t.Fatalf("no reference %d of %d to %d", hows[r], from, to)
				}
				passing = passing || m.passing[from]
				steps++
			}
			if want, ok := distance[i]; ok && (passing || steps != want) {
				t.Fatalf("object %d: a path of %d steps, %d are enough", i, steps, want)
			}
		}
	})
}

// TestAskedInOrder: each object but leaves is asked once, in the order of the addresses, whatever refers to what: a heap in a file
// is read from one end to the other.
func TestAskedInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		build(m, nil)
		var want []int
		for i := range m.sizes {
			if !m.Leaf(i) {
				want = append(want, i)
			}
		}
		if !slices.Equal(m.asked, want) {
			t.Fatalf("of %d objects were asked %v", len(m.sizes), m.asked)
		}
	})
}

// TestBrokenReferences: they count where they are those of an object that is alive, and hold nothing.
func TestBrokenReferences(t *testing.T) {
	m := &model{roots: 1, sizes: []int64{1, 2, 4}, passing: make([]bool, 3), refs: [][]int{{none, 1, none}, {none}, {1, none}}}
	g := build(m, nil)
	if g.broken != 3 || !g.Alive(1) || g.Alive(2) || g.Held(0) != 3 {
		t.Errorf("%d broken, %d bytes held", g.broken, g.Held(0))
	}
}
