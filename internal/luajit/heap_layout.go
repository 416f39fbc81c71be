package luajit

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/process"
)

// A heapLayout is where a machine keeps what its objects are found by: offsets in global_State.
type heapLayout struct {
	total    uint64 // gc.total: bytes in use
	strings  uint64 // str.tab, followed by its mask and the number of strings
	registry uint64 // registrytv

	threadSize uint64 // of lua_State, without its stack
}

// From gc.total on (GCState, the same since 2019).
const (
	gcState    = 0x11 // phase of the collector
	gcSegments = 0x13 // lightudnum
	gcRoot     = 0x18 // list of all objects but strings
	gcFinalize = 0x40 // mmudata: circular list of what waits for its finalizer
	gcSegment  = 0x60 // lightudseg
	gcSize     = 0x68 // the empty string follows
)

// findHeap finds those places, and checks each by what it must hold: the table of strings by strings,
// the registry by the table of loaded modules.
func (vm *VM) findHeap() (l heapLayout, err error) {
	r := vm.reader()
	main := r.U64(vm.Global + vm.Layout.MainThread)
	bad := func(what string) (heapLayout, error) {
		return l, fmt.Errorf("%s: %w: %s", vm.Library, ErrLayout, what)
	}
	if vm.Layout.OldStrings {
		return bad("it is from before 2020-10: its strings, buffers and C types are kept in another way")
	}
	// lua_newstate allocates the main thread and global_State as one, in this order.
	l.threadSize = vm.Global - main
	if r.Err != nil || l.threadSize < vm.Layout.CFrame+16 || l.threadSize > 0x100 {
		return bad("the main thread does not lie before the machine's state")
	}
	l.total = vm.Layout.totalBehind(l.threadSize)
	if l.strings = vm.findStrings(); l.strings == 0 {
		return bad("its table of strings was not found")
	}
	if l.registry = vm.findRegistry(); l.registry == 0 {
		return bad("its registry was not found")
	}
	return l, nil
}

// findStrings looks for a pointer to a table of strings with its mask and count behind it.
func (vm *VM) findStrings() uint64 {
	for at := uint64(0); at < vm.Layout.CurrentL; at += 8 {
		r := vm.reader()
		table, mask, count := r.U64(vm.Global+at), r.U32(vm.Global+at+8), r.U32(vm.Global+at+12)
		const least, most = 1<<8 - 1, 1<<26 - 1 // LJ_MIN_STRTAB, LJ_MAX_STRTAB
		if r.Err != nil || mask < least || mask > most || mask&(mask+1) != 0 || count == 0 || count/2 > mask {
			continue
		}
		seen, good := 0, true
		for n := uint64(0); n <= uint64(mask) && seen < 32 && good; n++ {
			s := r.U64(table+8*n) &^ 1
			good = r.Err == nil
			if s != 0 && good {
				good = r.U8(s+objectType) == typeString && r.Err == nil
				seen++
			}
		}
		if good && seen > 0 {
			return at
		}
	}
	return 0
}

// findRegistry looks for a table that has a table of loaded modules.
func (vm *VM) findRegistry() uint64 {
	for at := vm.Layout.MainThread + 8; at < vm.Layout.CurrentL; at += 8 {
		r := vm.reader()
		v := r.U64(vm.Global + at)
		if r.Err == nil && tagOf(v) == typeTable && vm.field(v&pointerMask, "_LOADED") != 0 {
			return at
		}
	}
	return 0
}

// field returns the table that another one has at a key, or 0.
func (vm *VM) field(table uint64, key string) (found uint64) {
	left := maxNodes
	vm.eachNode(table, &left, func(_ *process.Reader, name string, value uint64) {
		if name == key && tagOf(value) == typeTable {
			found = value & pointerMask
		}
	})
	return found
}
