package luajit

import (
	"errors"
	"fmt"

	"github.com/moonlap/moonlap/internal/process"
)

// ErrNoVM is the error of a program that has LuaJIT in it, but no machine of it, or not yet.
var ErrNoVM = errors.New("no LuaJIT machine in it")

const (
	searchChunk = 1 << 20
	searchMost  = 4 << 30 // bytes of memory that are searched
	// A machine's global_State begins behind its main coroutine, which takes 0x60 to 0x70 bytes
	// (GG_State, lj_dispatch.h).
	leastMain, mostMain = 0x40, 0x100
)

// Search finds a machine by its shape in memory that can be written: a coroutine, right behind it the
// global_State that it points to, which points back. Of several it returns the one for which the last
// call of prefer is true, or else the first. A machine that is just being made is not found.
func Search(memory process.Memory, maps []process.Mapping, library *process.Object, layout Layout, prefer func(*VM) bool) (*VM, error) {
	var found *VM
	var refused error
	left := searchMost
	for _, m := range maps {
		if !m.Writable || m.Path != "" && m.Path != "[heap]" && m.Path != "[anon]" {
			continue
		}
		for at := m.Start; at < m.End && left > 0; at += searchChunk {
			// A coroutine at the end of a chunk goes on in the next one.
			size := min(m.End-at, searchChunk+mostMain)
			left -= int(size)
			for _, main := range mainThreads(memory, at, int(size), layout) {
				vm, err := Attach(memory, library, layout, main)
				switch {
				case err != nil:
					refused = err
				case found == nil, prefer(vm):
					found = vm
				}
			}
		}
	}
	switch {
	case found != nil:
		return found, nil
	case refused != nil:
		return nil, fmt.Errorf("%w: %w", ErrNoVM, refused)
	}
	return nil, ErrNoVM
}

// mainThreads lists the addresses in a run of memory that look like a main coroutine and are known
// to a global_State behind them.
func mainThreads(memory process.Memory, from uint64, size int, layout Layout) []uint64 {
	b := make([]byte, size)
	if memory.ReadAt(b, from) != nil {
		return nil // unmapped meanwhile, or a guard page in it
	}
	var all []uint64
	for i := 0; i+int(layout.GlobalState)+8 <= min(len(b), searchChunk+int(layout.GlobalState)); i += 8 {
		address := from + uint64(i)
		global := le64(b[i+int(layout.GlobalState):])
		if global-address < leastMain || global-address > mostMain || b[i+objectType] != typeThread {
			continue
		}
		r := &process.Reader{Memory: memory}
		if r.U64(global+layout.MainThread) == address && r.Err == nil {
			all = append(all, address)
		}
	}
	return all
}

// OnStack reports whether Lua runs in the machine on a stack of C, that of a thread.
func (vm *VM) OnStack(stack process.Interval) bool {
	s, err := vm.Status()
	return err == nil && s.Running && stack.Contains(vm.reader().U64(s.Current+vm.Layout.CFrame)&^3)
}
