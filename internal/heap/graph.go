// Package heap says who holds the memory of a heap of objects: what each object keeps alive, along which
// path, and what has grown between two snapshots. It knows objects by their numbers alone.
package heap

import (
	"slices"

	"github.com/moonlap/moonlap/internal/memory"
)

// Objects are those of a heap, numbered from 0 in the order in which they lie in memory.
type Objects interface {
	Len() int
	Size(object int) int64 // bytes
	// Leaf reports that an object holds no others, as a string does. All leaves are of one class.
	Leaf(object int) bool
	// Roots and References call found with what is alive by itself, and what an object keeps alive. A reference
	// that makes no sense leads to -1. They find the same each time.
	Roots(found func(to int, how uint64))
	References(object int, found func(to int, how uint64))
	// Passing reports that an object holds others only for a while, as a coroutine does: who wants to know
	// who holds something would rather hear of another path.
	Passing(object int) bool
	classes
}

// classes number what names put into words: equal numbers, equal words. From -1 are the roots.
type classes interface {
	StepClass(from int, how uint64) uint64
	ObjectClass(object int) uint64
}

// A graph is the objects that are alive, and who keeps them so. Those that are no leaves are called by their rank here:
// the order in which a search follows their references, from 1 on. 0 is all roots together.
type graph struct {
	edges   *edges
	space   *memory.Space
	vertex  []uint32  // by rank
	rank    []int32   // by vertex; 0: nothing holds it
	parent  []int32   // by rank: the object before it on a short path from the roots
	step    []int32   // by rank: the class of that object's reference to it
	class   []int32   // by rank: its own
	size    []uint32  // by rank
	holders *ancestry // by rank: its immediate dominator
	held    []int64   // by rank: bytes that would be free without it, its own included
	leaves  bits      // those that are alive
	broken  int64     // references of objects that are alive, which make no sense
}

// build finds for every object a short path from the roots, and the object that all paths to it go
// through last: its immediate dominator, without which it would be garbage. The path is a shortest one of
// those that do not go through a passing object; where there is none, it is a short one.
//
// The objects are asked for their references once, in the order in which they lie in memory: that may be a file. Only
// the search goes to and fro in the arrays. It brings the objects into an order in which those that belong together
// lie together, and what follows is done in that order.
// The arrays lie in the space: call it within memory.Run.
func build(objects Objects, space *memory.Space) *graph {
	space.Say("references of its objects")
	g := &graph{edges: collect(objects, space), space: space}
	space.Say("paths to its objects")
	followed := g.search()
	g.describe(objects)
	space.Say("who holds its objects")
	dominator := dominators(followed, space)
	n := len(g.vertex)
	g.holders = newAncestry(n, space)
	for r := int32(1); int(r) < n; r++ { // a holder's rank is lower: it is on the path, too
		g.holders.add(r, dominator[r])
	}
	memory.Release(space, dominator)
	g.held = memory.Make[int64](space, n)
	g.leaves = newBits(space, objects.Len())
	g.eachLeaf(func(l leaf) {
		g.leaves.add(uint32(l.object))
		g.held[l.holder] += objects.Size(l.object)
	})
	for r := n - 1; r > 0; r-- {
		g.held[r] += int64(g.size[r])
		g.held[g.holders.up[r]] += g.held[r]
	}
	return g
}

// search ranks the objects in the order of their distance from the roots, and returns them with their references
// to one another.
func (g *graph) search() *digraph {
	e, space := g.edges, g.space
	most := e.vertices.count + 1
	g.vertex, g.parent, g.step = memory.Long[uint32](space, most)[:1], memory.Long[int32](space, most)[:1], memory.Long[int32](space, most)[:1]
	g.parent[0] = none
	memory.Scattered(space, e.edge)
	found := newBits(space, most)
	followed := &digraph{first: memory.Long[uint32](space, most+1)[:0], to: memory.Long[int32](space, len(e.edge))[:0]}
	type reached struct {
		vertex       uint32
		parent, step int32
	}
	add := func(v reached) {
		g.vertex, g.parent, g.step = append(g.vertex, v.vertex), append(g.parent, v.parent), append(g.step, v.step)
	}
	var later []reached // passing objects
	for next := int32(0); ; next++ {
		if int(next) == len(g.vertex) {
			if len(later) == 0 {
				break
			}
			add(later[0])
			later = later[1:]
		}
		v := g.vertex[next]
		followed.first = append(followed.first, uint32(len(followed.to)))
		for _, edge := range e.edge[e.first[v]:e.first[v+1]] {
			to := uint32(edge)
			if to == 0 {
				g.broken++
				continue
			}
			followed.to = append(followed.to, int32(to)) // its rank is not known yet
			if !found.add(to) {
				continue
			}
			if r := (reached{to, next, int32(edge >> 32)}); e.passing.has(to) {
				later = append(later, r)
			} else {
				add(r)
			}
		}
	}
	followed.first = append(followed.first, uint32(len(followed.to)))
	memory.Release(space, found)
	memory.Release(space, e.first)
	memory.Release(space, e.edge)
	e.first, e.edge = nil, nil
	g.rank = memory.Make[int32](space, most)
	for r, v := range g.vertex {
		g.rank[v] = int32(r)
	}
	for i, v := range followed.to {
		followed.to[i] = g.rank[v]
	}
	return followed
}

// describe notes what the objects are by their rank.
func (g *graph) describe(objects Objects) {
	g.class, g.size = memory.Make[int32](g.space, len(g.vertex)), memory.Make[uint32](g.space, len(g.vertex))
	for v, r := range g.rank {
		if r != 0 {
			g.class[r], g.size[r] = g.edges.class[v], uint32(objects.Size(int(g.edges.object[v])))
		}
	}
	memory.Release(g.space, g.edges.class)
	g.edges.class = nil
}

// A leaf is one that is alive, and how.
type leaf struct {
	object       int
	parent, step int32 // the rank before it on a short path, and the class of the reference
	holder       int32 // rank of its immediate dominator
}

// eachLeaf calls found with all leaves that are alive, in the order in which they lie in memory.
func (g *graph) eachLeaf(found func(leaf)) {
	var all []leaf
	g.edges.leaves.Each(func(from, to int, records func(func(object, vertex, step uint32))) {
		all = slices.Grow(all[:0], to-from)[:to-from]
		for i := range all {
			all[i].parent = none
		}
		records(func(object, vertex, step uint32) {
			l, r := &all[int(object)-from], g.rank[vertex]
			switch {
			case r == 0 && vertex != 0: // garbage itself
			case l.parent == none:
				*l = leaf{object: int(object), parent: r, step: int32(step), holder: r}
			default:
				if r < l.parent {
					l.parent, l.step = r, int32(step)
				}
				l.holder = g.holders.nearest(l.holder, r)
			}
		})
		for _, l := range all {
			if l.parent != none {
				found(l)
			}
		}
	})
}

// needed estimates how many bytes Build and Holders take for a number of objects, at most. With half of them leaves, two
// references of each object and as many again to leaves, that is 60 for the references, 13 for the order of the search,
// and 30 while dominators are looked for.
func needed(objects int64) int64 { return 104 * objects }

// busy estimates how many bytes of these are used in no order at a time: what a search follows.
func busy(objects int64) int64 { return 8 * objects }

// Alive reports whether anything holds an object.
func (g *graph) Alive(object int) bool {
	v, leaf := g.edges.vertices.of(object)
	if leaf {
		return g.leaves.has(uint32(object))
	}
	return g.rank[v] != 0
}

// Held is how many bytes would be free without the object, which is no leaf.
func (g *graph) Held(object int) int64 {
	if r := g.rankOf(object); r != 0 {
		return g.held[r]
	}
	return 0
}

// rankOf is the rank of an object that is no leaf; 0: nothing holds it.
func (g *graph) rankOf(object int) int32 {
	v, _ := g.edges.vertices.of(object)
	return g.rank[v]
}

// object is that of a rank; of 0 there is none.
func (g *graph) object(r int32) int {
	if r == 0 {
		return none
	}
	return int(g.edges.object[g.vertex[r]])
}

// from is the object before a rank on its path, or -1.
func (g *graph) from(r int32) int { return g.object(g.parent[r]) }

// hows finds out by which reference each of some ranks is reached: the first one of the object before it. An object is
// asked once for all of its own.
func (g *graph) hows(objects Objects, ranks []int32) map[int32]uint64 {
	wanted := map[int]map[int]int32{} // by object before it, and by object
	for _, r := range ranks {
		from := g.from(r)
		if wanted[from] == nil {
			wanted[from] = map[int]int32{}
		}
		wanted[from][g.object(r)] = r
	}
	all := map[int32]uint64{}
	for from, reached := range wanted {
		found := func(to int, how uint64) {
			if r, ok := reached[to]; ok {
				all[r] = how
				delete(reached, to)
			}
		}
		if from == none {
			objects.Roots(found)
		} else {
			objects.References(from, found)
		}
	}
	return all
}
