package profile

import (
	"cmp"
	"slices"
)

// A Node is a frame of a flame graph: all samples whose stacks are the same up to here.
type Node struct {
	Name  string  `json:"n"`
	Kind  string  `json:"k"` // lua, jit, builtin, c, kernel
	Place string  `json:"p,omitempty"`
	Count int64   `json:"c"`
	Inner []*Node `json:"i,omitempty"`

	index map[drawn]*Node
}

// Tree merges the stacks from the outermost frame on. Siblings are sorted by name, as flame graphs
// are, so that equal ones stand at equal places in different graphs.
func (p *Profile) Tree() *Node {
	root := &Node{Name: "all", Kind: string(C)}
	for _, s := range p.Stacks {
		root.Count += s.Count
		at := root
		for _, f := range drawnOf(s.Frames) {
			at = at.child(f)
			at.Count += s.Count
		}
	}
	root.sort()
	return root
}

func (n *Node) child(f drawn) *Node {
	if c, ok := n.index[f]; ok {
		return c
	}
	c := &Node{Name: f.Name, Kind: f.Kind, Place: f.Place}
	if n.index == nil {
		n.index = map[drawn]*Node{}
	}
	n.index[f] = c
	n.Inner = append(n.Inner, c)
	return c
}

func (n *Node) sort() {
	slices.SortFunc(n.Inner, func(a, b *Node) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Place, b.Place)) })
	for _, c := range n.Inner {
		c.sort()
	}
}

// Depth is the number of levels below and with the node.
func (n *Node) Depth() int {
	deepest := 0
	for _, c := range n.Inner {
		deepest = max(deepest, c.Depth())
	}
	return deepest + 1
}
