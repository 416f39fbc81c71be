package luajit

// A root is where the collector begins to mark, or a place that it comes to soon and whose name people
// know.
type root struct {
	name    string
	address uint64
}

// rootAddresses are the roots (gc_mark_start), the best known first: what several of them hold is named by
// the first.
func (h *Heap) rootAddresses() []root {
	g, l := h.vm.Global, h.vm.Layout
	registry := h.pointer(g+h.layout.registry) & pointerMask
	all := []root{
		{"package.loaded", h.vm.field(registry, "_LOADED")},
		{"_G", h.pointer(h.main + environment)},
		{"registry", registry},
		{"main thread", h.main},
		{"running coroutine", h.pointer(g + l.CurrentL)},
	}
	all = append(all, root{"FFI finalizers", h.types.finalizer}, root{"FFI types", h.types.misc()})
	if first := h.pointer(g + h.layout.total + gcFinalize); first != 0 {
		at := first
		for range h.index.count {
			all = append(all, root{"waiting for its finalizer", at})
			if at = h.pointer(at + objectNext); at == first || h.kindAt(at) == 0 {
				break
			}
		}
	}
	// gcroot: names of metamethods, metatables of basic types, default files; behind numbers of the random
	// generator, which are no addresses of objects.
	names := map[uint8]string{typeString: "LuaJIT's names", typeTable: "metatables of basic types", typeUserdata: "default files"}
	for at := l.CurrentL + 0x18; at < l.Traces-jitTraces; at += 8 {
		if to := h.pointer(g + at); h.index.has(to) && names[h.kindAt(to)] != "" {
			all = append(all, root{names[h.kindAt(to)], to})
		}
	}
	known := all[:0]
	for _, r := range all {
		if h.kindAt(r.address) != 0 {
			known = append(known, r)
		}
	}
	return known
}

// Roots calls found with each object that is alive by itself, the best known first.
func (h *Heap) Roots(found func(to int, how Ref)) {
	h.roots = h.rootAddresses()
	for n, r := range h.roots {
		if i, ok := h.index.of(r.address); ok {
			found(i, ref(refRoot, uint64(n)))
		}
	}
	// Reserved words, names of C types and the like are never collected.
	h.roots = append(h.roots, root{name: "LuaJIT's names"})
	for _, i := range h.fixed {
		found(int(i), ref(refRoot, uint64(len(h.roots)-1)))
	}
}
