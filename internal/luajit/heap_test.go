package luajit

import (
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/moonlap/moonlap/internal/process"
)

// TestIndex: the index numbers what was added, in the order of the addresses, and nothing else.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		copied := process.NewCopy([]process.Part{
			{Address: 0x1000, Bytes: make([]byte, 1200)},
			{Address: 0x1000 + 1200, Bytes: make([]byte, 64)},
			{Address: 0x9000, Bytes: make([]byte, 520)},
		})
		x := newIndex(copied, nil)
		var added []uint64
		for _, at := range rapid.SliceOf(rapid.Uint64Range(0x0ff0, 0x9300)).Draw(t, "addresses") {
			possible := copied.View(at, 1) != nil && at%granule == 0
			want := possible && !slices.Contains(added, at)
			if got := x.add(at); got != want {
				t.Fatalf("%#x was added: %v", at, got)
			}
			if want {
				added = append(added, at)
			}
			if x.has(at) != possible {
				t.Fatalf("%#x is there: %v", at, x.has(at))
			}
		}
		slices.Sort(added)
		var all []uint64
		x.number()
		x.each(func(n int, at uint64) { all = append(all, at) })
		if !slices.Equal(all, added) {
			t.Fatalf("numbered %#x, added %#x", all, added)
		}
		for at := uint64(0x0ff0); at < 0x9300; at += 4 {
			n, ok := x.of(at)
			want, known := slices.BinarySearch(added, at)
			if ok != known || ok && n != want {
				t.Fatalf("%#x is number %d, %v", at, n, ok)
			}
		}
	})
}

// A made machine is memory in which a heap can be built by hand: a main thread with its stack, strings, and
// whatever a test puts behind them.
type made struct {
	*testing.T
	memory []byte
	next   uint64 // free memory
	root   uint64 // list of objects
	vm     *VM
}

const (
	madeAt     = 0x10_0000
	madeMain   = madeAt
	madeGlobal = madeAt + 0x70
)

// newMade lays a machine out as Debian 12's LuaJIT does.
func newMade(t *testing.T) *made {
	m := &made{T: t, memory: make([]byte, 1<<18), next: madeAt + 0x2000}
	m.vm = &VM{Global: madeGlobal, Library: "made", Layout: Layout{
		GlobalState: 0x10, Base: 0x20, Top: 0x28, Stack: 0x38, CFrame: 0x50, ExtraData: 0x60,
		VMState: 0xb8, MainThread: 0xc0, CurrentL: 0x170, JITBase: 0x178, Traces: 0x2e0 + 0x180,
		SnapshotPC: true, StateSize: 0x1898, StateTotal: 0x80,
	}}
	// The strings, empty at first.
	strings := m.allocate(8 * 256)
	m.put(madeGlobal+0x98, strings)
	m.put(madeGlobal+0xa0, 255) // mask; the count follows
	// The main thread and its stack, which is of 48 slots, two of them in use.
	m.memory[0x09] = typeThread
	stack := m.allocate(8 * 48)
	m.put(madeMain+0x10, madeGlobal)
	m.put(madeMain+0x38, stack)
	m.put(madeMain+0x20, stack+16)
	m.put(madeMain+0x28, stack+16)
	m.put(madeMain+0x58, 48)
	m.put(madeGlobal+0xc0, madeMain)
	globals := m.table(0, 0)
	m.put(madeMain+environment, globals)
	registry := m.table(0, 2)
	m.put(madeGlobal+0x110, tagged(typeTable, registry))
	m.set(registry, 0, tagged(typeString, m.string("_LOADED")), tagged(typeTable, m.table(0, 4)))
	return m
}

func tagged(kind uint8, address uint64) uint64 { return ^uint64(kind)<<47 | address }

func (m *made) put(at, value uint64) { binary.LittleEndian.PutUint64(m.memory[at-madeAt:], value) }
func (m *made) get(at uint64) uint64 { return binary.LittleEndian.Uint64(m.memory[at-madeAt:]) }

func (m *made) allocate(n uint64) uint64 {
	at := m.next
	m.next += (n + 15) &^ 15
	return at
}

// object makes an object and puts it at the head of the list.
func (m *made) object(kind uint8, n uint64) uint64 {
	at := m.allocate(n)
	m.put(at, m.root)
	m.memory[at-madeAt+objectType] = kind
	m.root = at
	return at
}

func (m *made) table(array, nodes uint64) uint64 {
	t := m.object(typeTable, tableSize)
	if array > 0 {
		at := m.allocate(8 * array)
		m.put(t+tableArray, at)
		m.put(t+tableArraySize, array)
		for i := range array {
			m.put(at+8*i, tagged(tagNil, pointerMask))
		}
	}
	if nodes > 0 {
		at := m.allocate(nodeSize * nodes)
		m.put(t+tableNodes, at)
		m.put(t+tableArraySize, array|(nodes-1)<<32)
		for i := range nodes {
			m.put(at+nodeSize*i, tagged(tagNil, pointerMask))
			m.put(at+nodeSize*i+nodeKey, tagged(tagNil, pointerMask))
		}
	}
	return t
}

func (m *made) set(table, node, key, value uint64) {
	at := m.get(table+tableNodes) + nodeSize*node
	m.put(at, value)
	m.put(at+nodeKey, key)
}

// string makes a string in the next chain.
func (m *made) string(text string) uint64 {
	at := m.allocate(stringBytes + uint64(len(text)) + 4)
	m.memory[at-madeAt+objectType] = typeString
	m.put(at+0x10, uint64(len(text))<<32)
	copy(m.memory[at-madeAt+stringBytes:], text)
	count := m.get(madeGlobal+0xa0) >> 32
	m.put(m.get(madeGlobal+0x98)+8*count, at|1)
	m.put(madeGlobal+0xa0, 255|(count+1)<<32)
	return at
}

func (m *made) read() *Heap {
	m.Helper()
	h, err := m.tryRead()
	if err != nil {
		m.Fatal(err)
	}
	return h
}

func (m *made) tryRead() (*Heap, error) {
	// The main thread is the last of the list.
	m.put(madeMain, 0)
	last := m.root
	for n := 0; m.get(last) != 0 && m.get(last) != madeMain && n < 1000; n++ {
		last = m.get(last)
	}
	m.put(last, madeMain)
	m.put(madeGlobal+gcTotal+gcRoot, m.root)
	copied := process.NewCopy([]process.Part{{Address: madeAt, Bytes: m.memory}})
	m.vm.Memory = copied
	return m.vm.ReadHeap(copied, process.Registers{}, nil)
}

// at is the number of the object at an address.
func (h *Heap) numberAt(t *testing.T, address uint64) int {
	t.Helper()
	n, ok := h.index.of(address)
	if !ok {
		t.Fatalf("no object at %#x", address)
	}
	return n
}

// TestSizes: each type has the size that LuaJIT frees it by.
func TestSizes(t *testing.T) {
	m := newMade(t)
	want := map[uint64]int64{}
	want[m.string("")] = 24 + 4
	want[m.string("abc")] = 24 + 4
	want[m.string("abcd")] = 24 + 8
	want[m.table(0, 0)] = 64
	want[m.table(5, 8)] = 64 + 5*8 + 8*24
	// An array of 3 behind its table, and one that has moved away from there.
	colocated := m.object(typeTable, tableSize+24)
	m.memory[colocated-madeAt+tableColo] = 3
	m.put(colocated+tableArray, colocated+tableSize)
	m.put(colocated+tableArraySize, 3)
	want[colocated] = 64 + 24
	moved := m.table(10, 0)
	m.memory[moved-madeAt+tableColo] = 3 | 0x80
	want[moved] = 64 + 24 + 80
	function := m.object(typeFunction, 40+16)
	m.memory[function-madeAt+functionCount] = 2
	want[function] = 40 + 16
	c := m.object(typeFunction, 48+8)
	m.memory[c-madeAt+functionID], m.memory[c-madeAt+functionCount] = 1, 1
	want[c] = 48 + 8
	want[m.object(typeUpvalue, upvalueSize)] = 48
	proto := m.object(typeProto, 200)
	m.put(proto+protoAllSize, 200)
	want[proto] = 200
	user := m.object(typeUserdata, userdataSize+100)
	m.put(user+userdataLength, 100)
	want[user] = 48 + 100
	// A string buffer with 256 bytes of its own, and one that shares another's.
	for flags, more := range map[uint64]int64{1: 256, 3: 0, 5: 0} {
		buffer := m.object(typeUserdata, userdataSize+0x48)
		m.memory[buffer-madeAt+userdataKind] = userdataBuffer
		m.put(buffer+userdataLength, 0x48)
		m.put(buffer+userdataSize+bufferBegin, 0x5000)
		m.put(buffer+userdataSize+bufferEnd, 0x5100)
		m.put(buffer+userdataSize+bufferFlags, madeMain|flags)
		want[buffer] = 48 + 0x48 + more
	}
	// C data of variable size has 8 bytes before it.
	variable := m.object(typeCData, 32+cdataSize+50) + 16
	m.put(variable-8, 50<<32|24<<16)
	m.memory[variable-madeAt+objectType], m.memory[variable-madeAt+objectMarks] = typeCData, markVariable
	m.put(variable, m.get(variable-16))
	m.root = variable
	want[variable] = 50 + 24
	trace := m.object(typeTrace, traceSize)
	m.put(trace+traceFirst, irBias-4)
	m.put(trace+0x08, uint64(typeTrace)<<8|2<<16|(irBias+6)<<32) // 2 snapshots, 10 instructions
	m.put(trace+0x28, irBias-4|7<<32)                            // 7 entries
	want[trace] = 120 + 10*8 + 2*12 + 7*4
	thread := m.object(typeThread, 0x70)
	m.put(thread+0x38, m.allocate(8*40))
	m.put(thread+0x58, 40)
	want[thread] = 112 + 40*8
	want[madeMain] = 48 * 8 // without the machine's own structure

	h := m.read()
	for at, size := range want {
		if n := h.numberAt(t, at); h.Size(n) != size {
			t.Errorf("the %v at %#x has %d bytes, want %d", h.Type(n), at, h.Size(n), size)
		}
	}
	if h.Broken != 0 || h.Cut != 0 {
		t.Errorf("%d broken, %d cut", h.Broken, h.Cut)
	}
}

// held lists what an object keeps alive, by address.
func held(h *Heap, from int) (all []uint64) {
	h.References(from, func(to int, _ Ref) { all = append(all, h.at[to]) })
	slices.Sort(all)
	return all
}

// TestReferences: what LuaJIT marks is followed; weak references are not.
func TestReferences(t *testing.T) {
	m := newMade(t)
	key, value, item := m.string("key"), m.table(0, 0), m.table(0, 0)
	full := m.table(1, 2)
	m.put(m.get(full+tableArray), tagged(typeTable, item))
	m.set(full, 1, tagged(typeString, key), tagged(typeTable, value))
	modes := map[string][]uint64{"": {key, value, item}, "k": {value, item}, "v": {key}, "kv": nil, "other": {key, value, item}}
	mode := m.string("__mode")
	tables := map[string]uint64{}
	metas := map[string]uint64{}
	for text := range modes {
		metas[text] = m.table(0, 2)
		m.set(metas[text], 0, tagged(typeString, mode), tagged(typeString, m.string(text)))
		tables[text] = m.table(1, 2)
		m.put(m.get(tables[text]+tableArray), tagged(typeTable, item))
		m.set(tables[text], 1, tagged(typeString, key), tagged(typeTable, value))
		m.put(tables[text]+tableMeta, metas[text])
	}
	up := m.object(typeUpvalue, upvalueSize)
	m.put(up+upvalueOwn, tagged(typeTable, value))
	m.put(up+upvalueValue, up+upvalueOwn)
	name := m.string("@made.lua")
	constants := m.allocate(16)
	proto := m.object(typeProto, protoSize)
	m.put(proto+protoAllSize, protoSize)
	m.put(proto+protoConstants, constants+16)
	m.put(proto+protoCountGC, 2)
	m.put(proto+protoAllSize, protoSize)
	m.put(constants, key)
	m.put(constants+8, item)
	m.put(proto+protoChunkName, name)
	environment := m.table(0, 0)
	function := m.object(typeFunction, 48)
	m.memory[function-madeAt+functionCount] = 1
	m.put(function+functionEnv, environment)
	m.put(function+functionPC, proto+protoSize)
	m.put(function+functionUp, up)
	h := m.read()

	sorted := func(all ...uint64) []uint64 { slices.Sort(all); return all }
	for text, want := range modes {
		got := held(h, h.numberAt(t, tables[text]))
		if want := sorted(append(slices.Clone(want), metas[text])...); !slices.Equal(got, want) {
			t.Errorf("a table of mode %q holds %#x, want %#x", text, got, want)
		}
	}
	for at, want := range map[uint64][]uint64{
		full: sorted(key, value, item), up: {value}, proto: sorted(key, item, name), function: sorted(environment, proto, up),
	} {
		if got := held(h, h.numberAt(t, at)); !slices.Equal(got, want) {
			t.Errorf("the %v holds %#x, want %#x", h.Type(h.numberAt(t, at)), got, want)
		}
	}
	if h.Broken != 0 {
		t.Errorf("%d broken", h.Broken)
	}
}

// TestCut: where the list of objects breaks off, what references lead to is found all the same.
func TestCut(t *testing.T) {
	m := newMade(t)
	kept := m.table(0, 2)
	loaded := m.get(m.get(m.get(madeGlobal+0x110)&pointerMask+tableNodes)) & pointerMask
	m.set(loaded, 0, tagged(typeString, m.string("kept")), tagged(typeTable, kept))
	broken := m.table(0, 0)
	m.tryRead()
	for _, next := range []uint64{0x1, 0xdead_beef_0000, broken, 1<<64 - 1} { // garbage, and a circle
		m.put(broken, next)
		copied := process.NewCopy([]process.Part{{Address: madeAt, Bytes: m.memory}})
		m.vm.Memory = copied
		h, err := m.vm.ReadHeap(copied, process.Registers{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if h.Cut == 0 {
			t.Errorf("behind %#x nothing is missed", next)
		}
		h.numberAt(t, kept)
	}
}

// TestGarbledHeap: whatever stands in the memory, reading it ends, without a panic.
func TestGarbledHeap(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := newMade(t)
		full := m.table(3, 8)
		m.set(full, 1, tagged(typeString, m.string("key")), tagged(typeTable, m.table(0, 0)))
		m.tryRead()
		for range rapid.IntRange(1, 20).Draw(r, "words") {
			at := rapid.Uint64Range(0, (m.next-madeAt)/8-1).Draw(r, "word")
			m.put(madeAt+8*at, rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(madeAt, m.next),
				rapid.SampledFrom([]uint64{0, 1, 1<<32 - 1, 1<<64 - 1, tagged(typeTable, full), tagged(typeFunction, madeMain)})).Draw(r, "garbage"))
		}
		copied := process.NewCopy([]process.Part{{Address: madeAt, Bytes: m.memory}})
		m.vm.Memory = copied
		h, err := m.vm.ReadHeap(copied, process.Registers{RIP: 1, RDX: madeAt, RBX: madeAt}, nil)
		if err != nil {
			return
		}
		h.Roots(func(to int, how Ref) { h.Step(-1, how, true) })
		for i := range h.Len() {
			h.Describe(i)
			h.ObjectClass(i)
			h.TypeName(i)
			if h.Type(i) == Table {
				h.Entries(i)
			}
			h.References(i, func(to int, how Ref) {
				h.StepClass(i, how)
				h.Step(i, how, true)
			})
		}
	})
}
