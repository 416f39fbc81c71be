package worker

import (
	"github.com/moonlap/moonlap/internal/luajit"
)

// A Machine is a Lua VM of a worker. An nginx with Lua in its http and in its stream block has two.
type Machine struct {
	Name string // the block that it is of, "http" or "stream"; "" in another program
	VM   *luajit.VM
}

// Machines are the worker's, the one that VM is first.
func (w *Worker) Machines() []Machine {
	all := []Machine{{w.block, w.VM}}
	if w.Other != nil {
		all = append(all, Machine{blockStream, w.Other})
	}
	return all
}

const blockHTTP, blockStream = "http", "stream"

// Block is the name of the block that a machine is of.
func (w *Worker) Block(vm *luajit.VM) string {
	if w.Other != nil && vm.Global == w.Other.Global {
		return blockStream
	}
	return w.block
}

// Running is the machine that runs Lua; VM where none does. Lua of one never runs inside that of another.
func (w *Worker) Running() *luajit.VM {
	if w.Other != nil {
		if s, err := w.Other.Status(); err == nil && s.Running {
			return w.Other
		}
	}
	return w.VM
}

// Settle has each VM settle what is known of its layout by now.
func (w *Worker) Settle() {
	for _, m := range w.Machines() {
		m.VM.Settle()
	}
}

func (w *Worker) learnNames() {
	for _, m := range w.Machines() {
		m.VM.LearnNames()
	}
}
