package luajit

// Function is the Lua function whose first instruction is at an address, in the line before another instruction of it; 0: in
// its first line.
func (vm *VM) Function(code, at uint64) (Frame, error) {
	r := vm.reader()
	f := vm.protoFrame(r, code-protoSize, at)
	if at == 0 {
		f.Line = f.FirstLn
	}
	return f, r.Err
}
