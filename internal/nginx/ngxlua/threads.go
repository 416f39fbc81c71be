package ngxlua

import (
	"slices"

	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/profile"
)

// A Thread is a coroutine of a request that the Lua module schedules, with those that it has begun.
type Thread struct {
	Kind     string          `json:"kind"`                      // entry: the phase's own; thread: of nginx.thread.spawn; coroutine: of coroutine.create
	State    string          `json:"state"`                     // waits, runs, new, ended
	Waits    string          `json:"waits_in,omitempty"`        // the function that it waits in: nginx.sleep
	Lua      *profile.Frame  `json:"lua,omitempty"`             // the innermost Lua function, at the line where it waits
	Stack    []profile.Frame `json:"stack,omitempty"`           // the innermost frames of its own stack
	Orphan   bool            `json:"creator_unknown,omitempty"` // which coroutine began it is not known
	Children []Thread        `json:"children,omitempty"`        // that it has begun: spawned, or resumed for the first time
}

// Count is how many coroutines there are below a thread that have not ended.
func (t Thread) Count() (n int) {
	for _, c := range t.Children {
		if n += c.Count(); c.State != stateEnded {
			n++
		}
	}
	return n
}

const (
	stateWaits, stateRuns, stateNew, stateEnded = "waits", "runs", "new", "ended"

	kindEntry, kindThread, kindCoroutine = "entry", "thread", "coroutine"

	mostThreads = 1000 // of all requests, in one look
	mostFrames  = 8    // of a thread's stack
	mostParts   = 256  // of a list of records
	leastRecord = 0x40 // bytes of a coroutine's record
	mostRecord  = 0x400
	mostPart    = 64 // records that a list has in one piece
)

// A threadLayout is where a request's context keeps the records of the coroutines that are not its entry one, and where
// these keep who began them.
type threadLayout struct {
	list   uint64   // offset of the pointer to their list in the context; 0: not found yet
	size   uint64   // of a record
	parent []uint64 // offsets in a record that may be the parent's; one: it is that; nil: not looked for yet
}

// A coRecord is the Lua module's record of a coroutine (ngx_http_lua_co_ctx_t).
type coRecord struct{ at, coroutine, parent uint64 }

// threads is the tree of a request's coroutines, nil where there is none but the entry one. registered are those that
// the Lua module keeps from being collected: the entry ones and the light threads. left is how many may still be read.
func (m *Module) threads(request uint64, registered map[uint64]bool, left *int) *Thread {
	context := m.context(m.Memory, request)
	if context == 0 {
		return nil
	}
	m.findCoroutines(context, request)
	l := &m.layout
	if !l.records {
		return nil
	}
	r := m.reader()
	entry := coRecord{at: context + l.entry - l.coroutine, coroutine: r.U64(context + l.entry)}
	list := m.threadList(context, request)
	all := append([]coRecord{entry}, m.records(list, request, left)...)
	if len(all) == 1 || r.Err != nil {
		return nil
	}
	m.findParents(all)
	children := map[uint64][]coRecord{}
	known := map[uint64]bool{}
	for _, c := range all {
		known[c.at] = true
	}
	orphan := map[uint64]bool{}
	for _, c := range all[1:] {
		if len(m.threadsAt.parent) == 1 {
			c.parent = r.U64(c.at + m.threadsAt.parent[0])
		}
		if !known[c.parent] || c.parent == c.at { // not resumed yet, or not known
			c.parent, orphan[c.at] = entry.at, true
		}
		children[c.parent] = append(children[c.parent], c)
	}
	var tree func(c coRecord) Thread
	tree = func(c coRecord) Thread {
		t := m.thread(c.coroutine)
		t.Orphan = orphan[c.at]
		switch {
		case c.at == entry.at:
			t.Kind = kindEntry
		case registered[c.coroutine]:
			t.Kind = kindThread
		default:
			t.Kind = kindCoroutine
		}
		of := children[c.at]
		delete(children, c.at) // what garbage leads in a circle is not followed twice
		for _, inner := range of {
			if child := tree(inner); child.State != stateEnded || child.Count() > 0 {
				t.Children = append(t.Children, child)
			}
		}
		return t
	}
	root := tree(entry)
	if len(root.Children) == 0 {
		return nil
	}
	return &root
}

// thread describes a coroutine as it is now.
func (m *Module) thread(co uint64) Thread {
	t := Thread{State: stateEnded}
	if status, err := m.VM.Status(); err == nil && status.Running && status.Current == co {
		t.State = stateRuns
		return t
	}
	if !m.VM.Waits(co) {
		if f, err := m.VM.Entry(co); err == nil && !m.VM.Begun(co) {
			named := m.Named(f)
			t.State, t.Lua = stateNew, &named
		}
		return t
	}
	t.State = stateWaits
	frames, err := m.VM.Suspended(co)
	if err != nil { // it goes on at this moment
		t.State = stateRuns
		return t
	}
	for _, f := range frames[:min(len(frames), mostFrames)] {
		t.Stack = append(t.Stack, m.Named(f))
	}
	t.Waits, t.Lua = m.waitsAt(frames)
	return t
}

// waitsAt is the function that a suspended stack waits in, and the Lua function that called it.
func (m *Module) waitsAt(frames []luajit.Frame) (waits string, lua *profile.Frame) {
	for _, frame := range frames {
		named := m.Named(frame)
		if frame.Kind == luajit.Lua {
			return waits, &named
		}
		if waits == "" {
			waits = named.Function
		}
	}
	return waits, nil
}

// Of ngx_list_t: a pointer to its last part, the first part (elements, how many, the next part), the size of an element,
// how many a part holds, the pool.
const (
	listPart  = 0x08
	listSize  = 0x20
	listRoom  = 0x28
	partCount = 0x08
	partNext  = 0x10
)

// threadList returns the list of a request's coroutines but the entry one; 0: there is none. It is found as the list in
// the context whose elements know coroutines of this very request, which know them.
func (m *Module) threadList(context, request uint64) uint64 {
	r := m.reader()
	if l := m.threadsAt; l.list != 0 {
		list := r.U64(context + l.list)
		if list == 0 || r.Err != nil || r.U64(list+listSize) != l.size || r.Err != nil {
			return 0
		}
		return list
	}
	for at := uint64(8); at < contextSize; at += 8 {
		one := m.reader()
		list := one.U64(context + at)
		if list == 0 || list%8 != 0 {
			continue
		}
		elements, count := one.U64(list+listPart), one.U64(list+listPart+partCount)
		size, room := one.U64(list+listSize), one.U64(list+listRoom)
		if one.Err != nil || size < leastRecord || size > mostRecord || size%8 != 0 || room == 0 || room > mostPart || count > room {
			continue
		}
		for i := range count {
			if m.isRecord(elements+i*size, request) {
				m.threadsAt.list, m.threadsAt.size = at, size
				return list
			}
		}
	}
	return 0
}

// isRecord reports whether at an address there is the record of a coroutine of the request.
func (m *Module) isRecord(at, request uint64) bool {
	r := m.reader()
	co := r.U64(at + m.layout.coroutine)
	if r.Err != nil || !m.VM.Coroutine(co) {
		return false
	}
	if of, err := m.VM.Request(co); err != nil || of != request {
		return false
	}
	if m.VM.Layout.Record == 0 { // an older LuaJIT
		return true
	}
	record, err := m.VM.Record(co)
	return err == nil && record == at
}

// records are those of a list whose coroutines are still the request's.
func (m *Module) records(list, request uint64, left *int) (all []coRecord) {
	if list == 0 {
		return nil
	}
	r := m.reader()
	for part, n := list+listPart, 0; part != 0 && n < mostParts && r.Err == nil; part, n = r.U64(part+partNext), n+1 {
		elements, count := r.U64(part), r.U64(part+partCount)
		for i := range min(count, mostPart) {
			at := elements + i*m.threadsAt.size
			if *left <= 0 {
				return all
			}
			if m.isRecord(at, request) {
				*left--
				all = append(all, coRecord{at: at, coroutine: r.U64(at + m.layout.coroutine)})
			}
		}
	}
	return all
}

// findParents looks for the place in a record that points to the record of who began the coroutine: of all of a request
// it holds another one of its records, or nothing, and nothing in the entry one. What holds in every request that is seen
// is left.
func (m *Module) findParents(all []coRecord) {
	l := &m.threadsAt
	if len(l.parent) == 1 {
		return
	}
	known := map[uint64]bool{}
	for _, c := range all {
		known[c.at] = true
	}
	holds := func(at uint64) bool {
		some := false
		for i, c := range all {
			r := m.reader()
			parent := r.U64(c.at + at)
			if r.Err != nil || i == 0 && parent != 0 || parent == c.at || parent != 0 && !known[parent] {
				return false
			}
			some = some || parent != 0
		}
		return some
	}
	var found []uint64
	for at := uint64(0); at < l.size; at += 8 {
		if (l.parent == nil || slices.Contains(l.parent, at)) && holds(at) {
			found = append(found, at)
		}
	}
	if len(found) > 0 {
		l.parent = found
	}
}
