package heap

import (
	"cmp"
	"slices"
	"strings"

	"github.com/moonlap/moonlap/internal/memory"
)

// names put references and objects into words. From -1 are the roots.
type names interface {
	Step(from int, how uint64, exact bool) string // ".name", "upvalue store"
	Describe(object int) string                   // "table", "function get@cache.lua:3"
}

// A Holder is a place of a program that keeps memory alive: all objects that are held in the same way by
// the same holder, and below it what they alone hold.
type Holder struct {
	Name      string    `json:"name"`
	Count     int64     `json:"count"`      // objects of its own
	Bytes     int64     `json:"bytes"`      // their sizes
	HeldCount int64     `json:"held_count"` // with all below it
	HeldBytes int64     `json:"held_bytes"`
	Inner     []*Holder `json:"inner,omitempty"` // the largest first
}

const (
	maxDepth   = 64  // of holders; deeper structures count to the last
	maxRepeats = 3   // of a name on one path: lists and trees fold into themselves
	maxInner   = 500 // different names below one holder, before the others are called alike
	maxSteps   = 6   // of a path in one name, before its beginning is left out
)

// A tree of holders under construction.
type tree struct {
	graph   *graph
	objects Objects
	names   names

	holders []holder
	text    map[uint64]int32 // name by class
	known   map[string]int32 // name by text
	words   []string         // names
	child   map[[2]int32]int32
}

type holder struct {
	parent, name int32
	depth, inner int32
	count, bytes int64
}

// Holders merges the tree of immediate dominators by names: what the program holds alike counts together.
// What has no single holder but the roots stands directly below them, by its shortest path.
func (g *graph) Holders(objects Objects, names names, space *memory.Space) *Holder {
	t := &tree{graph: g, objects: objects, names: names,
		holders: []holder{{parent: none, name: none}},
		text:    map[uint64]int32{}, known: map[string]int32{}, child: map[[2]int32]int32{},
	}
	of := memory.Make[int32](space, len(g.vertex)) // holder of a rank's object
	defer memory.Release(space, of)
	for r := int32(1); int(r) < len(of); r++ {
		up := g.holders.up[r]
		of[r] = t.below(of[up], t.name(held{class: g.class[r], step: g.step[r], parent: g.parent[r], holder: up}))
		t.count(of[r], int64(g.size[r]))
	}
	g.eachLeaf(func(l leaf) {
		name := t.name(held{class: g.edges.leaf, step: l.step, parent: l.parent, holder: l.holder})
		t.count(t.below(of[l.holder], name), objects.Size(l.object))
	})
	return t.result()
}

func (t *tree) count(holder int32, bytes int64) {
	t.holders[holder].count++
	t.holders[holder].bytes += bytes
}

// A held is an object to be named: its class, the step to it, and the ranks of what is before it on its path and of
// its holder.
type held struct{ class, step, parent, holder int32 }

// name numbers the words for how an object is held by its holder.
func (t *tree) name(o held) int32 {
	g := t.graph
	class, up := hash(hash(0, o.class), o.step), o.parent
	for steps := 1; steps < maxSteps && up != o.holder; steps++ {
		class = hash(class, g.step[up])
		up = g.parent[up]
	}
	if up != o.holder { // the beginning of the path is left out
		class = hash(class, none)
	}
	if n, ok := t.text[class]; ok {
		return n
	}
	n := t.intern(t.words1(o))
	t.text[class] = n
	return n
}

// hash adds a class to a hash of others (a step of MurmurHash3's finalizer).
func hash(of uint64, class int32) uint64 {
	x := (of ^ uint64(class+2)) * 0xff51afd7ed558ccd
	return x ^ x>>32
}

// words1 puts it into words: the steps from the holder to the object, and what that is. Strings that
// several hold have no place worth telling.
func (t *tree) words1(o held) string {
	what := t.names.Describe(int(t.graph.edges.classes[o.class]))
	last := t.step(o.step)
	switch {
	case o.parent == 0: // a root has a name
		return last
	case o.parent != o.holder && what == "string":
		return "strings held in several ways"
	}
	step := func(r int32) string { return t.step(t.graph.step[r]) }
	return describe(joined(append(t.graph.path(o.parent, o.holder, maxSteps-1, step), last)), what)
}

// step puts a step into words: those of its class, where several are alike.
func (t *tree) step(class int32) string {
	s := t.graph.edges.steps[class]
	return t.names.Step(s.from, s.how, false)
}

// path are the steps from one rank to another that the shortest path to it goes through; the first are
// left out where there are too many.
func (g *graph) path(r, holder int32, most int, step func(r int32) string) (steps []string) {
	for up := r; up != holder; up = g.parent[up] {
		if len(steps) == most {
			steps = append(steps, "…")
			break
		}
		steps = append(steps, step(up))
	}
	slices.Reverse(steps)
	return steps
}

// joined writes a path as a program would: a.b["c"], with arrows where it could not.
func joined(steps []string) string {
	var b strings.Builder
	for _, s := range steps {
		if s == "" { // as the value of an upvalue
			continue
		}
		if b.Len() > 0 && s[0] != '.' && s[0] != '[' {
			b.WriteString(" → ")
		}
		b.WriteString(s)
	}
	return b.String()
}

// describe joins a path and what stands at its end, unless the path says that already.
func describe(path, what string) string {
	last := path[strings.LastIndex(path, " ")+1:]
	switch {
	case path == "":
		return what
	case what == "upvalue", last == what, last == "metatable", last == "environment", last == "code":
		return path
	}
	return path + " " + what
}

func (t *tree) intern(s string) int32 {
	n, ok := t.known[s]
	if !ok {
		n = int32(len(t.words))
		t.known[s] = n
		t.words = append(t.words, s)
	}
	return n
}

// below returns the holder of a name below another one, which is itself or one above it where the names
// repeat.
func (t *tree) below(parent, name int32) int32 {
	key := [2]int32{parent, name}
	if h, ok := t.child[key]; ok {
		return h
	}
	h := t.place(parent, name)
	t.child[key] = h
	return h
}

func (t *tree) place(parent, name int32) int32 {
	p := t.holders[parent]
	if p.depth >= maxDepth {
		return parent
	}
	repeats, nearest := 0, int32(none)
	for at := parent; at > 0; at = t.holders[at].parent {
		if t.holders[at].name == name {
			if repeats++; nearest == none {
				nearest = at
			}
		}
	}
	if repeats >= maxRepeats {
		return nearest
	}
	if p.inner >= maxInner {
		if other := t.intern("other keys"); name != other {
			return t.below(parent, other)
		}
	}
	t.holders = append(t.holders, holder{parent: parent, name: name, depth: p.depth + 1})
	t.holders[parent].inner++
	return int32(len(t.holders) - 1)
}

// result makes Holders of it, with sums.
func (t *tree) result() *Holder {
	all := make([]*Holder, len(t.holders))
	for i, h := range t.holders {
		all[i] = &Holder{Count: h.count, Bytes: h.bytes, HeldCount: h.count, HeldBytes: h.bytes}
		if i > 0 {
			all[i].Name = t.words[h.name]
		}
	}
	for i := len(all) - 1; i > 0; i-- { // those above have lower numbers
		up := all[t.holders[i].parent]
		up.HeldCount += all[i].HeldCount
		up.HeldBytes += all[i].HeldBytes
		up.Inner = append(up.Inner, all[i])
	}
	for _, h := range all {
		h.sort()
	}
	all[0].Name = "Lua heap"
	return all[0]
}

func (h *Holder) sort() {
	slices.SortFunc(h.Inner, func(a, b *Holder) int {
		return cmp.Or(cmp.Compare(b.HeldBytes, a.HeldBytes), cmp.Compare(a.Name, b.Name))
	})
}

// Prune puts together, at each place, what is smaller than N bytes.
func (h *Holder) Prune(least int64) {
	small := &Holder{Name: "smaller ones"}
	kept := h.Inner[:0]
	for _, inner := range h.Inner {
		if inner.HeldBytes >= least {
			inner.Prune(least)
			kept = append(kept, inner)
			continue
		}
		small.Count += inner.HeldCount
		small.Bytes += inner.HeldBytes
	}
	if small.Count > 0 {
		small.HeldCount, small.HeldBytes = small.Count, small.Bytes
		kept = append(kept, small)
	}
	h.Inner = kept
}

// Paths are shortest paths to some objects that are no leaves, with all their keys, and what they are.
func (g *graph) Paths(objects Objects, names names, of []int) []string {
	const most = 40 // steps
	var ranks []int32
	for _, object := range of {
		for r, n := g.rankOf(object), 0; r != 0 && n < most; r, n = g.parent[r], n+1 {
			ranks = append(ranks, r)
		}
	}
	hows := g.hows(objects, ranks)
	exact := func(r int32) string { return names.Step(g.from(r), hows[r], true) }
	paths := make([]string, len(of))
	for i, object := range of {
		paths[i] = "nothing holds it"
		if r := g.rankOf(object); r != 0 {
			paths[i] = joined(g.path(r, 0, most, exact))
		}
	}
	return paths
}
