package ngxlua

import (
	"github.com/moonlap/moonlap/internal/luajit"
	"github.com/moonlap/moonlap/internal/nginx"
	"github.com/moonlap/moonlap/internal/process"
	"github.com/moonlap/moonlap/internal/process/processtest"
	"pgregory.net/rapid"
)

// What the tests with real workers see of the room's inside: they import worker, which imports the room.

var (
	Draw   = draw
	IsPeer = isPeer
)

const (
	KindThread = kindThread
	Signature  = requestSignature
)

// Parents is how many places may be that of the parent in a coroutine's record.
func (m *Module) Parents() int { return len(m.threadsAt.parent) }

// Coroutine returns the coroutine of a request.
func (m *Module) Coroutine(request uint64) (uint64, bool) { return m.coroutine(request) }

// Relearn forgets where requests keep their texts, until what is returned is called.
func (m *Module) Relearn() (back func()) {
	known := m.requests
	m.requests = requestLayout{}
	return func() { m.requests = known }
}

// Over is the module read through another memory, where nothing is known but what its code tells.
func (m *Module) Over(memory process.Memory) *Module {
	vm := *m.VM
	vm.Memory = memory
	return &Module{
		VM: &vm, Nginx: &nginx.Nginx{Memory: memory, Symbols: m.Nginx.Symbols}, Memory: memory, Named: m.Named, conf: m.conf, at: m.at,
		layout: contextLayout{phase: m.layout.phase, phaseBytes: m.layout.phaseBytes},
	}
}

// Saved is what an image needs to be read again, without the memory.
func (m *Module) Saved() any {
	var vm luajit.VM = *m.VM
	vm.Memory = nil
	return savedModule{&vm, m.Nginx.Symbols, m.conf, m.at, m.layout.phase, m.layout.phaseBytes}
}

// Load makes a module of an image that was saved.
func Load(t rapid.TB, file string) (open func(process.Memory) *Module, image *processtest.Image) {
	return loadModule(t, file)
}
