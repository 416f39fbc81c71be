package luajit

// threadYielded is LUA_YIELD, the status of a coroutine that waits to be resumed.
const threadYielded = 1

// Suspended walks the stack of a coroutine that has yielded, innermost function first: the C function
// that waits, as ngx.sleep, and the Lua functions that called it. The process need not be stopped:
// while the coroutine waits its stack stands still, and where it went on meanwhile that is an error.
func (vm *VM) Suspended(coroutine uint64) ([]Frame, error) {
	base, ok := vm.yielded(coroutine)
	if !ok {
		return nil, errStack
	}
	frames, _, err := vm.walk(coroutine, start{base: base})
	if err != nil {
		return nil, err
	}
	if now, ok := vm.yielded(coroutine); !ok || now != base {
		return nil, errStack
	}
	return frames, nil
}

// Waits reports whether a coroutine has yielded.
func (vm *VM) Waits(coroutine uint64) bool {
	_, ok := vm.yielded(coroutine)
	return ok
}

// Begun reports whether a coroutine has begun to run; one that has not has its function on its stack, and nothing else runs.
func (vm *VM) Begun(coroutine uint64) bool {
	r := vm.reader()
	return r.U8(coroutine+threadStatus) != 0 || r.U64(coroutine+vm.Layout.CFrame) != 0 ||
		r.U64(coroutine+vm.Layout.Top) <= r.U64(coroutine+vm.Layout.Base) || r.Err != nil
}

// yielded returns the base of a coroutine's innermost function, if it has yielded.
func (vm *VM) yielded(coroutine uint64) (base uint64, ok bool) {
	r := vm.reader()
	ok = vm.Coroutine(coroutine) && r.U8(coroutine+threadStatus) == threadYielded &&
		r.U64(coroutine+vm.Layout.CFrame) == 0
	return r.U64(coroutine + vm.Layout.Base), ok && r.Err == nil
}

// Coroutine reports whether there is a coroutine of this machine at an address.
func (vm *VM) Coroutine(address uint64) bool {
	r := vm.reader()
	return address != 0 && address%8 == 0 && r.U8(address+objectType) == typeThread &&
		r.U64(address+vm.Layout.GlobalState) == vm.Global && r.Err == nil
}

// Entry is the function that a coroutine will begin with, which has not run yet: a pending timer's.
func (vm *VM) Entry(coroutine uint64) (Frame, error) {
	r := vm.reader()
	value := r.U64(r.U64(coroutine + vm.Layout.Base))
	if r.Err == nil && tagOf(value) != typeFunction {
		return Frame{}, errStack
	}
	f := vm.frame(r, value&pointerMask, 0)
	f.Line = f.FirstLn
	return f, r.Err
}
