package heap

import (
	mathbits "math/bits"

	"github.com/moonlap/moonlap/internal/memory"
)

// edges are all references of all objects. Vertex 0 is the roots; the others are the objects that are no leaves, in
// the order in which they lie in memory. A reference to a leaf is kept apart: it leads no further. What makes no sense
// leads to vertex 0, which changes nothing.
type edges struct {
	vertices *numbering
	object   []uint32        // by vertex
	passing  bits            // vertices
	first    []uint32        // by vertex: its first edge
	edge     []uint64        // the vertex that it leads to, and in the upper half its step
	leaves   *memory.Buckets // a leaf, a vertex that refers to it, the step
	steps    []step          // one for each class
	class    []int32         // by vertex: its class
	classes  []int32         // by class: an object of it
	leaf     int32           // class of all leaves
}

// A step represents all edges of a class.
type step struct {
	from int
	how  uint64
}

// collect asks every object for its references, one after the other.
func collect(objects Objects, space *memory.Space) *edges {
	e := &edges{vertices: numberVertices(objects, space), leaves: memory.NewBuckets(space, objects.Len()), leaf: none}
	n := e.vertices.count + 1
	e.object, e.first, e.class = memory.Long[uint32](space, n), memory.Make[uint32](space, n+1), memory.Long[int32](space, n)
	e.passing = newBits(space, n)
	known, last, lastID := map[uint64]int32{}, uint64(0), int32(none)
	from, vertex := none, uint32(0)
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
		v, leaf := uint32(0), false
		if to >= 0 {
			v, leaf = e.vertices.of(to)
		}
		if leaf {
			e.leaves.Add(uint32(to), vertex, uint32(lastID))
		} else {
			e.edge = memory.Push(space, e.edge, uint64(lastID)<<32|uint64(v))
		}
	}
	objects.Roots(found)
	knownObjects := map[uint64]int32{}
	classOf := func(object int) int32 {
		class := objects.ObjectClass(object)
		id, ok := knownObjects[class]
		if !ok {
			id = int32(len(e.classes))
			knownObjects[class] = id
			e.classes = append(e.classes, int32(object))
		}
		return id
	}
	for from = range objects.Len() {
		if objects.Leaf(from) {
			if e.leaf == none {
				e.leaf = classOf(from)
			}
			continue
		}
		vertex++
		e.object[vertex], e.first[vertex], e.class[vertex] = uint32(from), uint32(len(e.edge)), classOf(from)
		if objects.Passing(from) {
			e.passing.add(vertex)
		}
		objects.References(from, found)
	}
	e.first[n] = uint32(len(e.edge))
	return e
}

// A numbering gives numbers from 1 on to the objects that are no leaves. It takes a sixth of a byte for each object.
type numbering struct {
	inner  bits
	before []uint32 // vertices before each word of bits
	count  int
}

func numberVertices(objects Objects, space *memory.Space) *numbering {
	n := &numbering{inner: newBits(space, objects.Len())}
	n.before = memory.Make[uint32](space, len(n.inner))
	for i := range objects.Len() {
		if i%64 == 0 {
			n.before[i/64] = uint32(n.count)
		}
		if !objects.Leaf(i) {
			n.inner.add(uint32(i))
			n.count++
		}
	}
	return n
}

// of is the vertex of an object, unless that is a leaf.
func (n *numbering) of(object int) (vertex uint32, leaf bool) {
	word, bit := n.inner[object/64], uint64(1)<<(object%64)
	if word&bit == 0 {
		return 0, true
	}
	return n.before[object/64] + uint32(mathbits.OnesCount64(word&(bit-1))) + 1, false
}

// bits are a set of numbers.
type bits []uint64

func newBits(space *memory.Space, n int) bits { return memory.Make[uint64](space, n/64+1) }

func (b bits) has(n uint32) bool { return b[n/64]&(1<<(n%64)) != 0 }

// add adds a number; false: it was there.
func (b bits) add(n uint32) bool {
	word, bit := &b[n/64], uint64(1)<<(n%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}
