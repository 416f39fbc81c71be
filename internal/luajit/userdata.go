package luajit

import "github.com/moonlap/moonlap/internal/process"

// A Registered is a userdata of C code's, in a table of the registry under a name.
type Registered struct {
	Name  string
	Data  uint64 // address of its bytes
	Bytes uint64 // how many
}

// Userdata lists the userdata that C code keeps in tables of the registry by a string. The process
// need not be stopped: what is listed has to be checked.
func (vm *VM) Userdata() []Registered {
	at := vm.findRegistry()
	if at == 0 {
		return nil
	}
	var all []Registered
	left, leftInner := maxNodes, maxNodes
	vm.eachValue(vm.reader().U64(vm.Global+at)&pointerMask, &left, func(value uint64) {
		if tagOf(value) != typeTable {
			return
		}
		vm.eachNode(value&pointerMask, &leftInner, func(r *process.Reader, name string, value uint64) {
			if u := value & pointerMask; tagOf(value) == typeUserdata && r.U8(u+objectType) == typeUserdata {
				all = append(all, Registered{name, u + userdataSize, uint64(r.U32(u + userdataLength))})
			}
		})
	})
	return all
}
