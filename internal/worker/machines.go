package worker

import (
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/probe"
)

// A Machine is a Lua machine of a worker. An nginx with Lua in its http and in its stream block has two.
type Machine struct {
	Name string // the block that it is of, "http" or "stream"; "" in another program
	VM   *luajit.VM
}

// Machines are the worker's, the one that VM is first.
func (w *Worker) Machines() []Machine {
	all := []Machine{{w.block, w.VM}}
	if w.stream != nil {
		all = append(all, Machine{blockStream, w.stream})
	}
	return all
}

const blockHTTP, blockStream = "http", "stream"

// ofBlock is the name of the block that a machine is of.
func (w *Worker) ofBlock(vm *luajit.VM) string {
	if w.stream != nil && vm.Global == w.stream.Global {
		return blockStream
	}
	return w.block
}

// running is the machine that runs Lua; VM where none does. Lua of one never runs inside that of another.
func (w *Worker) running() *luajit.VM {
	if w.stream != nil {
		if s, err := w.stream.Status(); err == nil && s.Running {
			return w.stream
		}
	}
	return w.VM
}

// copied is the machine whose Lua the kernel has copied at a moment.
func (w *Worker) copied(m *probe.Moment) *luajit.VM {
	if w.stream != nil && m.Copied(w.stream.Global+w.stream.Layout.CurrentL) {
		return w.stream
	}
	return w.VM
}

func (w *Worker) settle() {
	for _, m := range w.Machines() {
		m.VM.Settle()
	}
}

func (w *Worker) learnNames() {
	for _, m := range w.Machines() {
		m.VM.LearnNames()
	}
}
