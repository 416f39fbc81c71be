package luajit

// opKSTR loads a string: A is the slot, D the constant's index. The instructions of LuaJIT 2.1 have the same numbers
// in all of it up to the loops.
const opKSTR = 39

// ConstantArguments are the arguments that the line which a frame of Lua is in gives to the function that it calls,
// as far as they are strings written there; "" are others. There are none where the line calls several
// functions with a different string as the second one: which of them runs does not follow from a line.
func (vm *VM) ConstantArguments(f Frame) []string {
	r := vm.reader()
	if f.proto == 0 || f.Line == 0 || r.U8(f.proto+objectType) != typeProto {
		return nil
	}
	count := r.U32(f.proto + protoSizeBC)
	constants := r.U64(f.proto + protoConstants)
	if r.Err != nil || count > mostCode {
		return nil
	}
	code := r.Bytes(f.proto+protoSize, 4*int(count))
	var found []string
	for i := 0; i+4 <= len(code); i += 4 {
		const second = 2 // operand C is the number of arguments, and one more
		if code[i] != opCALL || int(code[i+2])-1 < second || vm.line(r, f.proto, f.proto+protoSize+uint64(i)+4) != f.Line {
			continue
		}
		args := vm.constantArguments(code[:i+4], constants)
		if args[second-1] == "" {
			continue
		}
		if found != nil && found[second-1] != args[second-1] {
			return nil
		}
		found = args
	}
	if r.Err != nil {
		return nil
	}
	return found
}

// constantArguments reads those of the call that code ends with, whose slots the instructions before it fill.
func (vm *VM) constantArguments(code []byte, constants uint64) []string {
	const back = 64 // instructions that are searched for each
	call := len(code) - 4
	args := make([]string, code[call+2]-1)
	for n := range args {
		slot := int(code[call+1]) + 2 + n // behind the function and its frame
		for i := call - 4; i >= max(0, call-4*back); i -= 4 {
			if int(code[i+1]) != slot {
				continue
			}
			if code[i] == opKSTR {
				r := vm.reader()
				index := uint64(le16(code[i+2:])) // those that are collected lie below the others, the first one last
				s := r.U64(constants - 8*(index+1))
				if text := vm.text(r, s); r.U8(s+objectType) == typeString && r.Err == nil {
					args[n] = text
				}
			}
			break
		}
	}
	return args
}
