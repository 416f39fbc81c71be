// Package heap says who holds the memory of a heap of objects: what each object keeps alive, along which
// path, and what has grown between two snapshots. It knows objects by their numbers alone.
package heap

import "github.com/moonlap/moonlap/internal/memory"

// Objects are those of a heap, numbered from 0.
type Objects interface {
	Len() int
	Size(object int) int64 // bytes
	// Roots and References call found with what is alive by itself, and what an object keeps alive.
	Roots(found func(to int, how uint64))
	References(object int, found func(to int, how uint64))
	// Passing tells that an object holds others only for a while, as a coroutine does: who wants to know
	// who holds something would rather hear of another path.
	Passing(object int) bool
}

// A Graph is the objects that are alive, and who keeps them so. Objects are called by their rank here: the
// order in which a search comes to them, from 1 on. 0 stands for all roots together.
type Graph struct {
	object []int32  // by rank; of 0 none
	rank   []int32  // by object; 0: nothing holds it
	parent []int32  // by rank: the object before it on a short path from the roots
	how    []uint64 // by rank: that object's reference to it
	holder []int32  // by rank: its immediate dominator
	held   []int64  // by rank: bytes that would be free without it, its own included
}

// Build finds for every object a short path from the roots, and the object that all paths to it go
// through last: its immediate dominator, without which it would be garbage. The path is a shortest one of
// those that do not go through a passing object; where there is none, it is a short one.
// The arrays lie in the space: call it within memory.Run.
func Build(objects Objects, space *memory.Space) *Graph {
	most := objects.Len() + 1
	g := &Graph{
		rank: memory.Make[int32](space, objects.Len()), object: memory.Make[int32](space, most)[:1],
		parent: memory.Make[int32](space, most)[:1], how: memory.Make[uint64](space, most)[:1],
	}
	g.object[0], g.parent[0] = none, none
	edges := &digraph{
		first: memory.Make[uint32](space, most)[:1], last: memory.Make[uint32](space, most)[:1], to: memory.Make[int32](space, most)[:0],
	}
	var from int32
	found := func(to int, how uint64) {
		if g.rank[to] == 0 {
			g.rank[to] = int32(len(g.object))
			g.object = append(g.object, int32(to))
			g.parent = append(g.parent, from)
			g.how = append(g.how, how)
			edges.first, edges.last = append(edges.first, 0), append(edges.last, 0)
		}
		edges.to = memory.Push(space, edges.to, g.rank[to])
	}
	objects.Roots(found)
	edges.last[0] = uint32(len(edges.to))
	var later []int32 // passing objects
	for next := int32(1); int(next) < len(g.object) || len(later) > 0; {
		if int(next) < len(g.object) {
			from = next
			next++
			if objects.Passing(int(g.object[from])) {
				later = append(later, from)
				continue
			}
		} else {
			from, later = later[0], later[1:]
		}
		first := uint32(len(edges.to))
		objects.References(int(g.object[from]), found)
		edges.first[from], edges.last[from] = first, uint32(len(edges.to))
	}
	g.holder = dominators(edges, space)
	g.held = memory.Make[int64](space, len(g.object))
	for r := len(g.object) - 1; r > 0; r-- { // a holder's rank is lower: it is on the path, too
		g.held[r] += objects.Size(int(g.object[r]))
		g.held[g.holder[r]] += g.held[r]
	}
	return g
}

// Needed estimates how many bytes Build takes for a number of objects, at most: 20 for those of the graph, 16
// for two references of each and where they begin, 40 while dominators are looked for.
func Needed(objects int64) int64 { return 80 * objects }

// Alive tells whether anything holds an object.
func (g *Graph) Alive(object int) bool { return g.rank[object] != 0 }

// Held is how many bytes would be free without the object.
func (g *Graph) Held(object int) int64 {
	if r := g.rank[object]; r != 0 {
		return g.held[r]
	}
	return 0
}
