package process

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/arch/x86/x86asm"
)

// A Place is where a function's code lies: a file, as this process can open it, and a distance in it.
type Place struct {
	File   string
	Offset uint64
	Code   []byte // of the whole function, from there on
}

// ErrChanged is the error of code that is not what the mapped file has: no instruction may be chosen by that file.
var ErrChanged = errors.New("its code in memory is not that of the file: the file or the memory was changed while the " +
	"process runs; restart the process, then probe it")

// Place finds the function that begins at an address in memory, by .eh_frame.
func (p *Process) Place(address uint64) (Place, error) {
	o, err := p.ObjectAt(address)
	if err != nil {
		return Place{}, err
	}
	f, ok := o.frameAt(address)
	if !ok || f.From != address {
		return Place{}, fmt.Errorf("%s: no function is known to begin at %#x", o.Path, address-o.Bias)
	}
	return p.place(o, f.Interval)
}

// PlaceOf finds a function that an object of the process exports.
func (p *Process) PlaceOf(o *Object, function string) (Place, error) {
	address, size, ok := o.Symbol(function)
	if !ok {
		return Place{}, fmt.Errorf("%s does not export %s", o.Path, function)
	}
	return p.place(o, Interval{From: address, To: address + size})
}

// place reads a function from the file, since somebody's probe may be in memory, and compares it with the memory, since the file
// may have been written to. File is the very file that was read, whatever has its path now; it is open as long as the process is.
func (p *Process) place(o *Object, of Interval) (Place, error) {
	f, ok := o.file.(*os.File)
	if !ok || p.Core != nil {
		return Place{}, fmt.Errorf("%s: it is not the file of a running process", o.Path)
	}
	code, offset, err := o.read(of)
	if err != nil {
		return Place{}, err
	}
	if !writtenAt(f).Equal(o.written) { // its functions may begin elsewhere
		return Place{}, fmt.Errorf("%s: %w", o.Path, ErrChanged)
	}
	now := make([]byte, len(code))
	if err := p.readAt(now, of.From); err != nil {
		return Place{}, err
	}
	if at, same := sameCode(code, now); !same {
		return Place{}, fmt.Errorf("%s at %#x: %w", o.Path, of.From-o.Bias+uint64(at), ErrChanged)
	}
	return Place{File: fmt.Sprintf("/proc/self/fd/%d", f.Fd()), Offset: offset, Code: code}, nil
}

// sameCode reports whether memory has a file's code, and where it begins to differ. A breakpoint is no difference, nor is what the
// kernel makes of a long nop to reach a probe faster (Linux 6.18).
func sameCode(file, memory []byte) (differs int, same bool) {
	const breakpoint = 0xcc
	for at := 0; at < len(file); {
		i, err := x86asm.Decode(file[at:], 64)
		if err != nil {
			i = x86asm.Inst{Len: 1}
		}
		for n := at; n < at+i.Len; n++ {
			probed := i.Op == x86asm.NOP || n == at && memory[n] == breakpoint
			if file[n] != memory[n] && !probed {
				return n, false
			}
		}
		at += i.Len
	}
	return 0, true
}
