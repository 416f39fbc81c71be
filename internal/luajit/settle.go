package luajit

import (
	"fmt"

	"github.com/moonlap/moonlap/internal/process"
)

// totalBehind is where gc.total lies in a global_State that begins size bytes behind its main thread's
// beginning, which is that of GG_State too.
func (l *Layout) totalBehind(size uint64) uint64 {
	if l.StateTotal > size {
		return l.StateTotal - size
	}
	return gcTotal
}

func (vm *VM) total() uint64 {
	if vm.Layout.Total != 0 {
		return vm.Layout.Total
	}
	return gcTotal
}

func (vm *VM) stringLength() uint64 {
	if vm.Layout.OldStrings {
		return stringLengthOld
	}
	return stringLength
}

// settleStrings settles where strings have their length: where Lua's own globals are found by their names.
func (vm *VM) settleStrings() {
	for _, vm.Layout.OldStrings = range []bool{false, true} {
		for _, name := range []string{"_G", "string", "type"} {
			if _, ok := vm.lookup([]string{name}); ok {
				return
			}
		}
	}
	vm.Layout.OldStrings = false // a machine without libraries
}

// Settle finds out, once there are traces, what only they tell of the layout. It costs next to nothing
// before and afterwards; the process need not be stopped.
func (vm *VM) Settle() {
	if !vm.settled {
		vm.settleTraces() // if one is just being added, the next time will do
	}
}

// settleTraces settles which of the two known places the array of traces has: the one whose entries
// are traces that know their number; it returns how many there are. Without any trace both fit, and
// it does not matter yet.
func (vm *VM) settleTraces() (int, error) {
	before := vm.Layout
	places := []uint64{before.Traces, before.Traces + jitTracesOld - jitTraces}
	if vm.settled {
		places = places[:1]
	}
	fits := false
	for _, vm.Layout.Traces = range places {
		traces, ok := vm.tracesFit()
		if fits = fits || ok; ok && traces > 0 {
			if !vm.settled {
				vm.settleSnapshots()
			}
			return traces, nil
		}
	}
	if vm.Layout = before; fits {
		return 0, nil
	}
	return 0, fmt.Errorf("%s: %w: its traces were not found", vm.Library, ErrLayout)
}

func (vm *VM) tracesFit() (traces int, fit bool) {
	r := vm.reader()
	count := r.U32(vm.Global + vm.Layout.Traces + tracesCount)
	array := r.U64(vm.Global + vm.Layout.Traces)
	if r.Err != nil || count > maxTraces || (array == 0) != (count == 0) {
		return 0, false
	}
	for n := uint64(1); n < uint64(count); n++ {
		if t := r.U64(array+8*n) & pointerMask; t != 0 {
			if r.U8(t+objectType) != typeTrace || uint64(r.U16(t+traceNumber)) != n {
				return 0, false
			}
			traces++
		}
	}
	return traces, r.Err == nil
}

// settleSnapshots settles whether snapshots know their machine code. The number of a snapshot's entries
// stands behind that, or two bytes before: where it is, each snapshot's entries end where the next one's begin,
// or at the end of the map.
func (vm *VM) settleSnapshots() {
	r := vm.reader()
	for _, t := range vm.traces(r) {
		since, before := vm.entriesFit(r, &t, snapshotEntries), vm.entriesFit(r, &t, snapshotEntriesOld)
		if since != before && r.Err == nil {
			vm.Layout.SnapshotPC, vm.settled = since, true
			return
		}
	}
}

// entriesFit reports whether snapshots have the number of their entries at an offset.
func (vm *VM) entriesFit(r *process.Reader, t *trace, offset uint64) bool {
	const behind = 2 // words behind a snapshot's entries, with its bytecode address
	count := uint64(r.U16(t.address + traceSnapshots))
	snaps := r.U64(t.address + traceSnaps)
	for ; count > 0 && r.Err == nil; count-- {
		end := snaps + snapshotSize
		if count == 1 {
			end = t.address + traceSnapMapSize
		}
		if r.U32(snaps)+uint32(r.U8(snaps+offset))+behind != r.U32(end) {
			return false
		}
		snaps += snapshotSize
	}
	return r.Err == nil
}
