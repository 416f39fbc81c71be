package heap

import "github.com/moonlap/moonlap/internal/memory"

// edges are all references of all objects, in the order in which they were found. Vertex 0 is the roots; object n
// is vertex n+1. What makes no sense leads to vertex 0, which changes nothing.
type edges struct {
	digraph
	step    []int32 // by edge: the class of how it holds
	steps   []step  // by class
	class   []int32 // by object: its class
	classes []int32 // by class: an object of it
}

// A step is one that stands for all of a class.
type step struct {
	from int
	how  uint64
}

// collect asks every object for its references, one after the other.
func collect(objects Objects, space *memory.Space) *edges {
	n := objects.Len()
	e := &edges{class: memory.Make[int32](space, n)}
	e.first = memory.Make[uint32](space, n+2)
	known, last, lastID := map[uint64]int32{}, uint64(0), int32(none)
	from := none
	found := func(to int, how uint64) {
		if class := objects.StepClass(from, how); class != last || lastID == none {
			id, ok := known[class]
			if !ok {
				id = int32(len(e.steps))
				known[class] = id
				e.steps = append(e.steps, step{from, how})
			}
			last, lastID = class, id
		}
		e.to = memory.Push(space, e.to, int32(to+1))
		e.step = memory.Push(space, e.step, lastID)
	}
	objects.Roots(found)
	e.first[1] = uint32(len(e.to))
	knownObjects := map[uint64]int32{}
	for from = range n {
		objects.References(from, found)
		e.first[from+2] = uint32(len(e.to))
		class := objects.ObjectClass(from)
		id, ok := knownObjects[class]
		if !ok {
			id = int32(len(e.classes))
			knownObjects[class] = id
			e.classes = append(e.classes, int32(from))
		}
		e.class[from] = id
	}
	return e
}
