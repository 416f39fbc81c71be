package heap

// A digraph is a directed graph of vertices from 0 on: the successors of v are to[first[v]:last[v]].
type digraph struct {
	first, last []uint32
	to          []int32
}

func (g *digraph) size() int { return len(g.first) }

func (g *digraph) successors(v int32) []int32 { return g.to[g.first[v]:g.last[v]] }

const none = -1

// dominators computes the immediate dominator of every vertex: the last one that every path from vertex
// 0 goes through before it. Vertex 0 and those that no path leads to have none.
//
// This is the simple version of the algorithm of Lengauer and Tarjan, "A Fast Algorithm for Finding
// Dominators in a Flowgraph" (1979), of O(m log n) steps, without its recursion: a list of a million
// objects is a path of a million vertices.
func dominators(g *digraph) []int32 {
	vertices, parent := depthFirst(g)
	n := len(vertices)
	number := filled(g.size(), none) // of a vertex in depth-first order
	for i, v := range vertices {
		number[v] = int32(i)
	}
	predecessors := reversed(g, vertices, number)

	// From here on, vertices are their numbers.
	t := &forest{ancestor: parent, label: make([]int32, n), semi: make([]int32, n), linked: int32(n)}
	for i := range t.label {
		t.label[i], t.semi[i] = int32(i), int32(i)
	}
	dominator := filled(n, none)
	bucket, next := filled(n, none), filled(n, none) // lists of vertices by their semidominator
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
	all := filled(g.size(), none)
	for w := 1; w < n; w++ {
		all[vertices[w]] = vertices[dominator[w]]
	}
	return all
}

// depthFirst lists the vertices that paths from 0 lead to, in the order in which a search in depth comes
// to them, and the number in that order of each one's parent in the search's tree.
func depthFirst(g *digraph) (vertices, parent []int32) {
	number := filled(g.size(), none)
	position := make([]uint32, g.size()) // of the next successor to look at
	vertices, parent = []int32{0}, []int32{none}
	number[0] = 0
	for at := int32(0); at != none; {
		v := vertices[at]
		i := g.first[v] + position[v]
		if i == g.last[v] {
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
	return vertices, parent
}

// reversed is the graph of the numbered vertices with all edges turned round.
func reversed(g *digraph, vertices, number []int32) *digraph {
	n := len(vertices)
	ends := make([]uint32, n+1) // of each vertex's edges, which begin where those before them end
	r := &digraph{first: ends[:n], last: ends[1:]}
	for _, v := range vertices {
		for _, w := range g.successors(v) {
			r.last[number[w]]++ // how many, for now
		}
	}
	sum := uint32(0)
	for i, count := range r.last {
		r.last[i] = sum
		sum += count
	}
	r.to = make([]int32, sum)
	for i, v := range vertices {
		for _, w := range g.successors(v) {
			r.to[r.last[number[w]]] = int32(i)
			r.last[number[w]]++
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
}

// eval returns the vertex of the least semidominator among v and its ancestors below the root of its tree.
func (t *forest) eval(v int32) int32 {
	if v < t.linked {
		return v
	}
	t.path = t.path[:0]
	for u := v; t.ancestor[u] >= t.linked; u = t.ancestor[u] {
		t.path = append(t.path, u)
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

func filled(n int, value int32) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = value
	}
	return all
}
