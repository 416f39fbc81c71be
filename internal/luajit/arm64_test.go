package luajit

import "testing"

// TestArm64 reads the traces of a process on arm64, as a core file of Debian 12's luajit2 had them: snapshots tell lines there, too. What
// differs from x86-64 is where the traces are, and that snapshots count instructions and not bytes. The program is
//
//	 2    local w = v / 3         -- in a function that line 9 calls
//	 9      x = inner(x)
//	11      if x > 1e9 then
//	14      t[2] = x / 2
func TestArm64(t *testing.T) {
	vm, _ := load(t, "testdata/arm64/snapshots.image")
	vm.Layout.CodeWord = 4
	const mask = 0xffe0fc00
	lines := map[uint32]int{0x1e601800: 9, 0x1e600800: 14} // FDIV and FMUL of doubles: LuaJIT multiplies by 0.5
	all := 0
	for _, one := range vm.traces(vm.reader()) {
		for at := one.code.From; at < one.code.To; at += 4 {
			frames := vm.Compiled(one.address, at+4) // the time of an instruction is found at the next one
			if len(frames) == 0 {
				continue // behind a return to a lower frame only a stack knows the function
			}
			f := frames[0]
			if f.FirstLn != 6 || f.Line < 6 || max(f.Line, f.LastLine) > 17 {
				t.Errorf("trace %d at %d: %+v", one.number, at-one.code.From, f)
			}
			line, ok := lines[vm.reader().U32(at)&mask]
			if !ok {
				continue
			}
			if all++; line < f.Line || line > max(f.Line, f.LastLine) {
				t.Errorf("trace %d at %d: lines %d to %d do not hold %d", one.number, at-one.code.From, f.Line, f.LastLine, line)
			}
		}
	}
	if all < 4 {
		t.Errorf("%d divisions and multiplications", all)
	}
}
