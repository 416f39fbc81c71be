package process

import (
	"debug/elf"
	"errors"
	"fmt"

	"golang.org/x/arch/x86/x86asm"
)

// An Instruction of machine code; End is where the next one begins, from the function's start. Op is
// 0 where bytes are no code.
type Instruction struct {
	x86asm.Inst
	End int
}

// Instructions decodes an exported function, as far as it can be: some functions end in data.
func (o *Object) Instructions(function string) ([]Instruction, error) {
	code, _, err := o.Code(function)
	if err != nil {
		return nil, err
	}
	return decode(code)
}

// Called decodes the function that a function's instruction calls, where it is one of the same file
// that .eh_frame knows. The caller is exported.
func (o *Object) Called(caller string, call Instruction) ([]Instruction, error) {
	_, address, err := o.Code(caller)
	to, ok := call.Args[0].(x86asm.Rel)
	if err != nil || !ok || call.Op != x86asm.CALL {
		return nil, fmt.Errorf("%s: no call to a known function", caller)
	}
	f, ok := o.frameAt(address + uint64(call.End) + uint64(int64(to)))
	if !ok {
		return nil, fmt.Errorf("%s calls what is no function of its file", caller)
	}
	code, _, err := o.read(f.Interval)
	if err != nil {
		return nil, fmt.Errorf("%s calls: %w", caller, err)
	}
	return decode(code)
}

// read reads addresses in memory from the file, and returns where in it they lie.
func (o *Object) read(i Interval) (bytes []byte, offset uint64, err error) {
	for _, p := range o.ELF.Progs {
		if at := i.From - o.Bias; p.Type == elf.PT_LOAD && at >= p.Vaddr && at+i.Size() <= p.Vaddr+p.Filesz {
			bytes = make([]byte, i.Size())
			_, err := p.ReadAt(bytes, int64(at-p.Vaddr))
			return bytes, at - p.Vaddr + p.Off, err
		}
	}
	return nil, 0, fmt.Errorf("%s: no segment has a function at %#x", o.Path, i.From-o.Bias)
}

func decode(code []byte) ([]Instruction, error) {
	var all []Instruction
	for at := 0; at < len(code); {
		i, err := x86asm.Decode(code[at:], 64)
		if err != nil {
			i = x86asm.Inst{Len: 1} // a byte at a time until it is code again
		}
		at += i.Len
		all = append(all, Instruction{i, at})
	}
	if len(all) == 0 {
		return nil, errors.New("a function is empty")
	}
	return all, nil
}
