package heap

import "github.com/moonlap/moonlap/internal/memory"

// A digraph is a directed graph of vertices from 0 on: the successors of v are to[first[v]:first[v+1]].
type digraph struct {
	first []uint32
	to    []int32
}

func (g *digraph) size() int { return len(g.first) - 1 }

func (g *digraph) successors(v int32) []int32 { return g.to[g.first[v]:g.first[v+1]] }

const none = -1

// dominators computes the immediate dominator of every vertex: the last one that every path from vertex
// 0 goes through before it. Vertex 0 and those that no path leads to have none.
//
// Semidominators are those of Lengauer and Tarjan, "A Fast Algorithm for Finding Dominators in a Flowgraph" (1979),
// without the recursion: a list of a million objects is a path of a million vertices. The dominator of a vertex is
// the nearest ancestor, in the tree of dominators, of its parent and its semidominator: the second half of the
// algorithm SEMI-NCA of Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems" (2005). It takes
// O(m log n) steps.
//
// The arrays lie in a space, and are given back as soon as they are not needed: the graph, too, which is of no use
// afterwards.
func dominators(g *digraph, space *memory.Space) []int32 {
	size := g.size()
	vertices, parent, number := depthFirst(g, space)
	n := len(vertices)
	predecessors := reversed(g, vertices, number, space)
	memory.Release(space, number, g.to)
	memory.Release(space, g.first)
	g.first, g.to = nil, nil

	// From here on, vertices are their numbers.
	t := &forest{ancestor: memory.Make[int32](space, n), label: memory.Make[int32](space, n), semi: memory.Make[int32](space, n), linked: int32(n), space: space}
	copy(t.ancestor, parent)
	for i := range t.label {
		t.label[i], t.semi[i] = int32(i), int32(i)
	}
	for w := int32(n) - 1; w > 0; w-- {
		for _, v := range predecessors.successors(w) {
			t.semi[w] = min(t.semi[w], t.semi[t.eval(v)])
		}
		t.linked = w
	}
	memory.Release(space, predecessors.first)
	memory.Release(space, predecessors.to, t.ancestor, t.label, t.path)
	tree := newAncestry(n, space)
	for w := int32(1); int(w) < n; w++ {
		tree.add(w, tree.nearest(parent[w], t.semi[w]))
	}
	memory.Release(space, parent, t.semi)
	all := memory.Filled[int32](space, size, none)
	for w := 1; w < n; w++ {
		all[vertices[w]] = vertices[tree.up[w]]
	}
	tree.release()
	memory.Release(space, vertices)
	return all
}

// depthFirst lists the vertices that paths from 0 lead to, in the order in which a search in depth comes
// to them, the number in that order of each one's parent in the search's tree, and by vertex its number.
func depthFirst(g *digraph, space *memory.Space) (vertices, parent, number []int32) {
	number = memory.Filled[int32](space, g.size(), none)
	vertices, parent = memory.Make[int32](space, g.size())[:1], memory.Make[int32](space, g.size())[:1]
	parent[0], number[0] = none, 0
	next := memory.Push(space, nil, g.first[0]) // edge to follow, of each vertex on the path to where the search is
	for at := int32(0); at != none; {
		top := len(next) - 1
		i := next[top]
		if i == g.first[vertices[at]+1] {
			at, next = parent[at], next[:top]
			continue
		}
		next[top]++
		if w := g.to[i]; number[w] == none {
			number[w] = int32(len(vertices))
			vertices = append(vertices, w)
			parent = append(parent, at)
			at, next = number[w], memory.Push(space, next, g.first[w])
		}
	}
	memory.Release(space, next)
	return vertices, parent, number
}

// reversed is the graph of the numbered vertices with all edges turned round.
func reversed(g *digraph, vertices, number []int32, space *memory.Space) *digraph {
	n := len(vertices)
	r := &digraph{first: memory.Make[uint32](space, n+1)}
	ends := r.first[1:] // of each vertex's edges, which begin where those before them end
	for _, v := range vertices {
		for _, w := range g.successors(v) {
			ends[number[w]]++ // how many, for now
		}
	}
	sum := uint32(0)
	for i, count := range ends {
		ends[i] = sum
		sum += count
	}
	r.to = memory.Make[int32](space, int(sum))
	for i, v := range vertices {
		for _, w := range g.successors(v) {
			r.to[ends[number[w]]] = int32(i)
			ends[number[w]]++
		}
	}
	return r
}

// A forest is what the algorithm has linked so far: the vertices from linked on with their ancestors, which
// are their parents until a path is compressed. label[v] is a vertex of the least semidominator on the path
// from v up to its root, as far as the path was compressed.
type forest struct {
	ancestor, label, semi []int32
	linked                int32
	path                  []int32
	space                 *memory.Space
}

// eval returns the vertex of the least semidominator among v and its ancestors below the root of its tree.
func (t *forest) eval(v int32) int32 {
	if v < t.linked {
		return v
	}
	t.path = t.path[:0]
	for u := v; t.ancestor[u] >= t.linked; u = t.ancestor[u] {
		t.path = memory.Push(t.space, t.path, u)
	}
	for i := len(t.path) - 1; i >= 0; i-- { // from the top on
		u := t.path[i]
		a := t.ancestor[u]
		if t.semi[t.label[a]] < t.semi[t.label[u]] {
			t.label[u] = t.label[a]
		}
		t.ancestor[u] = t.ancestor[a]
	}
	return t.label[v]
}
