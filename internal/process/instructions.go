package process

import (
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
		return nil, fmt.Errorf("%s is empty", function)
	}
	return all, nil
}
