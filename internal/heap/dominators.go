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
// This is the simple version of the algorithm of Lengauer and Tarjan, "A Fast Algorithm for Finding
// Dominators in a Flowgraph" (1979), of O(m log n) steps, without its recursion: a list of a million
// objects is a path of a million vertices.
//
// The arrays lie in a space, and are given back as soon as they are not needed: the graph's edges, too, which
// are of no use afterwards.
func dominators(g *digraph, space *memory.Space) []int32 {
	size := g.size()
	vertices, parent, number := depthFirst(g, space)
	n := len(vertices)
	predecessors := reversed(g, vertices, number, space)
	memory.Release(space, number)
	memory.Release(space, g.to)
	g.to = nil

	// From here on, vertices are their numbers.
	t := &forest{ancestor: parent, label: memory.Make[int32](space, n), semi: memory.Make[int32](space, n), linked: int32(n), space: space}
	for i := range t.label {
		t.label[i], t.semi[i] = int32(i), int32(i)
	}
	dominator := memory.Filled[int32](space, n, none)
	bucket, next := memory.Filled[int32](space, n, none), memory.Filled[int32](space, n, none) // lists of vertices by their semidominator
	for w := int32(n) - 1; w > 0; w-- {
		for _, v := range predecessors.successors(w) {
			if u := t.eval(v); t.semi[u] < t.semi[w] {
				t.semi[w] = t.semi[u]
			}
		}
		next[w], bucket[t.semi[w]] = bucket[t.semi[w]], w
		p := parent[w] // not compressed yet
		t.linked = w
		for v := bucket[p]; v != none; v = next[v] {
			if u := t.eval(v); t.semi[u] < t.semi[v] {
				dominator[v] = u
			} else {
				dominator[v] = p
			}
		}
		bucket[p] = none
	}
	for w := 1; w < n; w++ {
		if dominator[w] != t.semi[w] {
			dominator[w] = dominator[dominator[w]]
		}
	}
	memory.Release(space, predecessors.first)
	memory.Release(space, predecessors.to)
	memory.Release(space, t.ancestor, t.label, t.semi, t.path, bucket, next)
	all := memory.Filled[int32](space, size, none)
	for w := 1; w < n; w++ {
		all[vertices[w]] = vertices[dominator[w]]
	}
	memory.Release(space, vertices, dominator)
	return all
}

// depthFirst lists the vertices that paths from 0 lead to, in the order in which a search in depth comes
// to them, the number in that order of each one's parent in the search's tree, and by vertex its number.
func depthFirst(g *digraph, space *memory.Space) (vertices, parent, number []int32) {
	number = memory.Filled[int32](space, g.size(), none)
	position := memory.Make[uint32](space, g.size()) // of the next successor to look at
	defer memory.Release(space, position)
	vertices, parent = memory.Make[int32](space, g.size())[:1], memory.Make[int32](space, g.size())[:1]
	parent[0], number[0] = none, 0
	for at := int32(0); at != none; {
		v := vertices[at]
		i := g.first[v] + position[v]
		if i == g.first[v+1] {
			at = parent[at]
			continue
		}
		position[v]++
		if w := g.to[i]; number[w] == none {
			number[w] = int32(len(vertices))
			vertices = append(vertices, w)
			parent = append(parent, at)
			at = number[w]
		}
	}
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
