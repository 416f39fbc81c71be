package luajit

import (
	"encoding/binary"
	"maps"

	"github.com/moonlap/moonlap/internal/process"
)

func le16(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }
func le32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// LearnNames reads what C and built-in functions are called: the way Lua code reaches them from the
// globals, "string.format", "ngx.print". The process need not be stopped for it.
func (vm *VM) LearnNames() {
	vm.builtins = map[uint64]string{}
	r := vm.reader()
	main := r.U64(vm.Global + vm.Layout.MainThread)
	left := maxNodes
	globals, seen := r.U64(main+environment)&pointerMask, map[uint64]bool{}
	vm.learn(globals, "", seen, 0, &left)
	table := globals // package.loaded.ffi, which is no global
	for _, name := range []string{"package", "loaded", "ffi"} {
		table = vm.tableIn(table, name, &left)
	}
	vm.learn(table, "ffi.", seen, maxDepth, &left)
	vm.nameNeighbours()
}

// tableIn is the table of a name in another one; 0: there is none.
func (vm *VM) tableIn(table uint64, name string, left *int) (found uint64) {
	if table == 0 {
		return 0
	}
	vm.eachNode(table, left, func(_ *process.Reader, key string, value uint64) {
		if key == name && tagOf(value) == typeTable {
			found = value & pointerMask
		}
	})
	return found
}

// FFI is how the names of what C data does begin: calls of C functions, arithmetic, access to fields.
const FFI = "FFI "

// nameless are built-in functions that no table holds: iterators, and what C data does. LuaJIT numbers its functions in the order of its
// libraries' sources, so each has its place before one that has a name.
var nameless = map[string][]string{ // the nearest one last
	"ipairs":         {"ipairs's iterator"},
	"coroutine.wrap": {"coroutine.wrap's function"},
	"string.gmatch":  {"string.gmatch"}, // its iterator
	"ffi.cdef": {
		FFI + "__index", FFI + "__newindex", FFI + "__eq", FFI + "__len", FFI + "__lt", FFI + "__le", FFI + "__concat", FFI + "call", FFI + "__add", FFI + "__sub",
		FFI + "__mul", FFI + "__div", FFI + "__mod", FFI + "__pow", FFI + "__unm", FFI + "__tostring", FFI + "__pairs", FFI + "__ipairs",
		FFI + "library's __index", FFI + "library's __newindex", FFI + "library's __gc", FFI + "callback's free", FFI + "callback's set",
	},
}

// nameNeighbours names these where all of their places are free: in another LuaJIT they may be others.
func (vm *VM) nameNeighbours() {
	for id, name := range maps.Clone(vm.builtins) {
		before := nameless[name]
		if id > 255 || id <= uint64(len(before)) { // an address
			continue
		}
		first := id - uint64(len(before))
		free := true
		for i := range before {
			free = free && vm.builtins[first+uint64(i)] == ""
		}
		for i, one := range before {
			if free {
				vm.builtins[first+uint64(i)] = one
			}
		}
	}
}

const (
	maxDepth  = 4       // of a name: ngx.shared.DICT.get has not more
	maxTables = 4000    // that are searched for names
	maxNodes  = 1 << 16 // of all tables that are read: applications keep data in global tables, too
)

// learn reads the functions out of a table and the tables in it.
func (vm *VM) learn(table uint64, prefix string, seen map[uint64]bool, depth int, left *int) {
	if seen[table] || depth > maxDepth || len(seen) > maxTables {
		return
	}
	seen[table] = true
	type inner struct {
		table uint64
		name  string
	}
	var later []inner
	vm.eachNode(table, left, func(r *process.Reader, name string, value uint64) {
		address := value & pointerMask
		switch {
		case tagOf(value) == typeFunction:
			id := uint64(r.U8(address + functionID))
			if id == 1 {
				id = r.U64(address + functionC)
			}
			if _, known := vm.builtins[id]; id != 0 && !known && r.Err == nil {
				vm.builtins[id] = prefix + name
			}
		case tagOf(value) == typeTable && name != "_G" && name != "package":
			later = append(later, inner{address, prefix + name + "."})
		case tagOf(value) == typeUserdata && prefix+name == "io.stdout": // methods of files
			later = append(later, inner{r.U64(address + userdataMeta), "file:"})
		}
	})
	for _, t := range later { // a shorter name is a better one
		vm.learn(t.table, t.name, seen, depth+1, left)
	}
}

// tagOf is the type of a tagged value: the complement of its upper 17 bits.
func tagOf(value uint64) int { return int(^(int64(value) >> 47)) }

// eachNode calls found with every value of a table that has a string for its key, unless the table is
// larger than what is left to read.
func (vm *VM) eachNode(table uint64, left *int, found func(r *process.Reader, key string, value uint64)) {
	r := vm.reader()
	if r.U8(table+objectType) != typeTable {
		return
	}
	count := uint64(r.U32(table+tableHashMask)) + 1
	nodes := r.U64(table + tableNodes)
	if r.Err != nil || count > uint64(*left) {
		return
	}
	*left -= int(count)
	all := r.Bytes(nodes, int(count)*nodeSize)
	for ; len(all) >= nodeSize; all = all[nodeSize:] {
		value, key := le64(all), le64(all[nodeKey:])
		if tagOf(key) != typeString {
			continue
		}
		one := vm.reader() // one that is garbage spoils no other
		if name := vm.text(one, key&pointerMask); one.Err == nil {
			found(one, name, value)
		}
	}
}
