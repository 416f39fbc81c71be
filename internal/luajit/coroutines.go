package luajit

// Coroutines lists the coroutines that C code keeps from being collected: those in tables of the
// registry. OpenResty has all there that run or wait for a request, in a table of its own. The process
// need not be stopped: what is listed has to be checked.
func (vm *VM) Coroutines() []uint64 {
	at := vm.findRegistry()
	if at == 0 {
		return nil
	}
	var all []uint64
	left := maxNodes
	vm.eachValue(vm.reader().U64(vm.Global+at)&pointerMask, &left, func(value uint64) {
		if tagOf(value) != typeTable {
			return
		}
		vm.eachValue(value&pointerMask, &left, func(value uint64) {
			if tagOf(value) == typeThread {
				all = append(all, value&pointerMask)
			}
		})
	})
	return all
}

// eachValue calls found with every value of a table, unless the table is larger than what is left to
// read.
func (vm *VM) eachValue(table uint64, left *int, found func(value uint64)) {
	r := vm.reader()
	if r.U8(table+objectType) != typeTable {
		return
	}
	for _, part := range []struct{ start, count, size uint64 }{
		{r.U64(table + tableArray), uint64(r.U32(table + tableArraySize)), 8},
		{r.U64(table + tableNodes), uint64(r.U32(table+tableHashMask)) + 1, nodeSize},
	} {
		if r.Err != nil || part.count > uint64(*left) {
			return
		}
		*left -= int(part.count)
		all := r.Bytes(part.start, int(part.count*part.size))
		for ; uint64(len(all)) >= part.size; all = all[part.size:] {
			found(le64(all))
		}
	}
}
