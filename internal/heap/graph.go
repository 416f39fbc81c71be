// Package heap says who holds the memory of a heap of objects: what each object keeps alive, along which
// path, and what has grown between two snapshots. It knows objects by their numbers alone.
package heap

import "github.com/moonlap/moonlap/internal/memory"

// Objects are those of a heap, numbered from 0 in the order in which they lie in memory.
type Objects interface {
	Len() int
	Size(object int) int64 // bytes
	// Roots and References call found with what is alive by itself, and what an object keeps alive. A reference
	// that makes no sense leads to -1. They find the same each time.
	Roots(found func(to int, how uint64))
	References(object int, found func(to int, how uint64))
	// Passing tells that an object holds others only for a while, as a coroutine does: who wants to know
	// who holds something would rather hear of another path.
	Passing(object int) bool
	Classes
}

// Classes number what names put into words: equal numbers, equal words. From -1 are the roots.
type Classes interface {
	StepClass(from int, how uint64) uint64
	ObjectClass(object int) uint64
}

// A Graph is the objects that are alive, and who keeps them so. Objects are called by their rank here: the
// order in which a search comes to them, from 1 on. 0 stands for all roots together.
type Graph struct {
	edges  *edges
	object []int32  // by rank; of 0 none
	rank   []int32  // by object; 0: nothing holds it
	parent []int32  // by rank: the object before it on a short path from the roots
	edge   []uint32 // by rank: that object's reference to it, among the edges
	holder []int32  // by rank: its immediate dominator
	held   []int64  // by rank: bytes that would be free without it, its own included
	broken int64    // references of objects that are alive, which make no sense
}

// Build finds for every object a short path from the roots, and the object that all paths to it go
// through last: its immediate dominator, without which it would be garbage. The path is a shortest one of
// those that do not go through a passing object; where there is none, it is a short one.
// The objects are asked for their references once, in the order in which they lie in memory: that may be a file.
// The arrays lie in the space: call it within memory.Run.
func Build(objects Objects, space *memory.Space) *Graph {
	g := &Graph{edges: collect(objects, space)}
	g.search(objects, space)
	dominator := dominators(&g.edges.digraph, space)
	g.holder = memory.Filled[int32](space, len(g.object), none)
	for r := 1; r < len(g.object); r++ {
		g.holder[r] = 0
		if d := dominator[g.object[r]+1]; d > 0 {
			g.holder[r] = g.rank[d-1]
		}
	}
	memory.Release(space, dominator)
	g.held = memory.Make[int64](space, len(g.object))
	for r := len(g.object) - 1; r > 0; r-- { // a holder's rank is lower: it is on the path, too
		g.held[r] += objects.Size(int(g.object[r]))
		g.held[g.holder[r]] += g.held[r]
	}
	return g
}

// search ranks the objects in the order of their distance from the roots.
func (g *Graph) search(objects Objects, space *memory.Space) {
	most := objects.Len() + 1
	g.rank, g.object = memory.Make[int32](space, objects.Len()), memory.Make[int32](space, most)[:1]
	g.parent, g.edge = memory.Make[int32](space, most)[:1], memory.Make[uint32](space, most)[:1]
	g.object[0], g.parent[0] = none, none
	follow := func(from int32) {
		v := g.object[from] + 1
		for i := g.edges.first[v]; i < g.edges.first[v+1]; i++ {
			to := g.edges.to[i]
			switch {
			case to == 0:
				g.broken++
			case g.rank[to-1] == 0:
				g.rank[to-1] = int32(len(g.object))
				g.object, g.parent, g.edge = append(g.object, to-1), append(g.parent, from), append(g.edge, i)
			}
		}
	}
	follow(0)
	var later []int32 // passing objects
	for next := int32(1); int(next) < len(g.object) || len(later) > 0; {
		switch {
		case int(next) == len(g.object):
			follow(later[0])
			later = later[1:]
			continue
		case objects.Passing(int(g.object[next])):
			later = append(later, next)
		default:
			follow(next)
		}
		next++
	}
}

// Needed estimates how many bytes Build takes for a number of objects, at most: 32 for those of the graph, 24
// for three references of each, 48 while dominators are looked for.
func Needed(objects int64) int64 { return 104 * objects }

// Alive tells whether anything holds an object.
func (g *Graph) Alive(object int) bool { return g.rank[object] != 0 }

// Held is how many bytes would be free without the object.
func (g *Graph) Held(object int) int64 {
	if r := g.rank[object]; r != 0 {
		return g.held[r]
	}
	return 0
}

// from is the object before a rank on its path, or -1.
func (g *Graph) from(r int32) int { return int(g.object[g.parent[r]]) }

// hows finds out by which reference each of some ranks is reached. An object is asked once for all of its own.
func (g *Graph) hows(objects Objects, ranks []int32) map[int32]uint64 {
	wanted := map[int]map[uint32]int32{} // by object before it, and by edge
	for _, r := range ranks {
		from := g.from(r)
		if wanted[from] == nil {
			wanted[from] = map[uint32]int32{}
		}
		wanted[from][g.edge[r]] = r
	}
	all := map[int32]uint64{}
	for from, edges := range wanted {
		at := g.edges.first[from+1]
		found := func(_ int, how uint64) {
			if r, ok := edges[at]; ok {
				all[r] = how
			}
			at++
		}
		if from == none {
			objects.Roots(found)
		} else {
			objects.References(from, found)
		}
	}
	return all
}
