package heap

import "github.com/moonlap/moonlap/internal/memory"

// An ancestry is a tree with the root 0 that grows by leaves, and finds nearest common ancestors in O(log n) steps,
// however deep it is. Each vertex knows one ancestor far above it (Myers, "An Applicative Random-Access Stack", 1983).
type ancestry struct {
	up, depth, far []int32
	space          *memory.Space
}

func newAncestry(size int, space *memory.Space) *ancestry {
	return &ancestry{up: memory.Make[int32](space, size), depth: memory.Make[int32](space, size), far: memory.Make[int32](space, size), space: space}
}

func (a *ancestry) release() { memory.Release(a.space, a.up, a.depth, a.far) }

// add adds a vertex below another.
func (a *ancestry) add(v, up int32) {
	a.up[v], a.depth[v], a.far[v] = up, a.depth[up]+1, up
	far := a.far[up]
	if farther := a.far[far]; a.depth[up]-a.depth[far] == a.depth[far]-a.depth[farther] {
		a.far[v] = farther
	}
}

// nearest is the common ancestor of two vertices that is farthest from the root. A vertex is its own ancestor here.
func (a *ancestry) nearest(v, w int32) int32 {
	if a.depth[v] < a.depth[w] {
		v, w = w, v
	}
	for a.depth[v] > a.depth[w] {
		if far := a.far[v]; a.depth[far] >= a.depth[w] {
			v = far
		} else {
			v = a.up[v]
		}
	}
	for v != w { // equally deep: those far above are, too
		if a.far[v] != a.far[w] {
			v, w = a.far[v], a.far[w]
		} else {
			v, w = a.up[v], a.up[w]
		}
	}
	return v
}
