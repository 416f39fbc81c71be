package luajit

import (
	"fmt"
	"math"

	"github.com/moonlap/moonlap/internal/process"
)

// Verify checks anew that the layout fits the machine, and returns what held, in words.
func (vm *VM) Verify() ([]string, error) {
	r := vm.reader()
	main := r.U64(vm.Global + vm.Layout.MainThread)
	if r.Err != nil {
		return nil, r.Err
	}
	return vm.verify(main)
}

// verify follows the pointers that have to lead back to where they came from.
func (vm *VM) verify(mainThread uint64) ([]string, error) {
	r := vm.reader()
	bad := func(what string) ([]string, error) {
		if r.Err != nil {
			return nil, fmt.Errorf("%s: %w: %s (%w)", vm.Library, ErrLayout, what, r.Err)
		}
		return nil, fmt.Errorf("%s: %w: %s", vm.Library, ErrLayout, what)
	}
	if r.U8(mainThread+objectType) != typeThread {
		return bad("the main thread is no coroutine")
	}
	if r.U64(vm.Global+vm.Layout.MainThread) != mainThread {
		return bad("the VM does not know its main thread")
	}
	held := []string{"the VM and its main coroutine know each other"}
	if current := r.U64(vm.Global + vm.Layout.CurrentL); current != 0 {
		if r.U64(current+vm.Layout.GlobalState) != vm.Global {
			return bad("the running coroutine is of another VM")
		}
		held = append(held, "the running coroutine knows its VM")
	}
	if env := r.U64(mainThread + environment); r.U8(env&pointerMask+objectType) != typeTable {
		return bad("the globals are no table")
	}
	if r.Err != nil {
		return bad("memory cannot be read")
	}
	held = append(held, "the globals are a table")
	vm.settleStrings()
	traces, err := vm.settleTraces()
	if err != nil {
		return nil, err
	}
	if traces > 0 {
		held = append(held, "every trace knows its number")
	}
	return held, nil
}

// Text reads a text that tables hold on the way from the globals: Text("jit", "version"). It is ""
// where there is none.
func (vm *VM) Text(path ...string) string {
	value, ok := vm.lookup(path)
	if !ok || tagOf(value) != typeString {
		return ""
	}
	r := vm.reader()
	text := vm.text(r, value&pointerMask)
	if r.Err != nil {
		return ""
	}
	return text
}

// Number reads a number that tables hold on the way from the globals, in the same way.
func (vm *VM) Number(path ...string) (float64, bool) {
	value, ok := vm.lookup(path)
	const isNumber = 13 // tags up to this one are other types (LJ_TISNUM is its complement)
	if !ok || tagOf(value) >= 0 && tagOf(value) <= isNumber {
		return 0, false
	}
	return math.Float64frombits(value), true
}

// lookup follows the names from the globals on.
func (vm *VM) lookup(path []string) (value uint64, ok bool) {
	r := vm.reader()
	table := r.U64(r.U64(vm.Global+vm.Layout.MainThread)+environment) & pointerMask
	for i, name := range path {
		if i > 0 {
			if tagOf(value) != typeTable {
				return 0, false
			}
			table = value & pointerMask
		}
		ok = false
		left := maxNodes
		vm.eachNode(table, &left, func(_ *process.Reader, key string, found uint64) {
			if key == name {
				value, ok = found, true
			}
		})
		if !ok {
			return 0, false
		}
	}
	return value, r.Err == nil
}
