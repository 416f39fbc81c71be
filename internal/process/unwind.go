package process

import (
	"errors"
	"fmt"
)

// DWARF's numbers of the registers of x86-64 that survive a call, and of the return address.
const (
	dwRBX    = 3
	dwRBP    = 6
	dwRSP    = 7
	dwR12    = 12
	dwR13    = 13
	dwR14    = 14
	dwR15    = 15
	dwReturn = 16
	dwCount  = 17
)

// get returns a register by its DWARF number, if it is one that survives calls.
func (r *Registers) get(n uint64) (uint64, bool) {
	if p := r.of(n); p != nil {
		return *p, true
	}
	return 0, false
}

func (r *Registers) of(n uint64) *uint64 {
	switch n {
	case dwRBX:
		return &r.RBX
	case dwRBP:
		return &r.RBP
	case dwRSP:
		return &r.RSP
	case dwR12:
		return &r.R12
	case dwR13:
		return &r.R13
	case dwR14:
		return &r.R14
	case dwR15:
		return &r.R15
	case dwReturn:
		return &r.RIP
	}
	return nil
}

// Errors of Caller.
var (
	ErrUnwind    = errors.New("cannot unwind")
	ErrOutermost = errors.New("the outermost frame") // of the program, or of a thread
)

// Caller returns the registers as they are after the function at r.RIP has returned, with the stack as
// memory has it. after reports that RIP is a return address, which may stand behind the last instruction
// of its function.
func (p *Process) Caller(memory Memory, r Registers, after bool) (Registers, error) {
	at := r.RIP
	if after {
		at--
	}
	o, err := p.ObjectAt(at)
	if err != nil {
		return r, fmt.Errorf("%w: %w", ErrUnwind, err)
	}
	f, ok := o.frameAt(at)
	if !ok {
		if next, bare := p.bareSyscall(memory, r); bare && !after {
			return next, nil
		}
		return r, fmt.Errorf("%w: %s has no rule for %#x", ErrUnwind, o.Path, at-o.Bias)
	}
	return f.caller(memory, r, at)
}

// bareSyscall is Caller for a system call in code without rules, which has put nothing onto the stack: glibc
// ends those of clone and clone3 before theirs, because they are wrong in the child. What stands on the
// stack then has to be a return address into code with rules.
func (p *Process) bareSyscall(memory Memory, r Registers) (next Registers, ok bool) {
	const syscall = "\x0f\x05"
	read := &Reader{Memory: memory}
	code := read.Bytes(r.RIP-uint64(len(syscall)), len(syscall))
	next = r
	next.RIP, next.RSP = read.U64(r.RSP), r.RSP+8
	if read.Err != nil || string(code) != syscall {
		return r, false
	}
	o, err := p.ObjectAt(next.RIP - 1)
	if err != nil {
		return r, false
	}
	_, ok = o.frameAt(next.RIP - 1)
	return next, ok
}

// caller applies the function's rules for the address at.
func (f *Function) caller(memory Memory, r Registers, at uint64) (Registers, error) {
	w, err := f.row(at)
	if err != nil {
		return r, err
	}
	read := &Reader{Memory: memory}
	var cfa uint64
	if w.expression != nil {
		if cfa, err = evaluate(w.expression, r, read); err != nil {
			return r, err
		}
	} else {
		base, ok := r.get(w.register)
		if !ok {
			return r, fmt.Errorf("%w: the frame hangs on register %d", ErrUnwind, w.register)
		}
		cfa = base + uint64(w.offset)
	}
	next := r
	next.RSP = cfa
	for n, rule := range w.saved {
		to := next.of(uint64(n))
		if to == nil || rule.kind != atOffset {
			continue
		}
		*to = read.U64(cfa + uint64(rule.offset))
	}
	switch {
	case read.Err != nil:
		return r, fmt.Errorf("%w: %w", ErrUnwind, read.Err)
	case next.RIP == 0, w.saved[dwReturn].kind != atOffset:
		return r, ErrOutermost
	case cfa <= r.RSP:
		return r, fmt.Errorf("%w: the stack runs backwards at %#x", ErrUnwind, r.RSP)
	}
	return next, nil
}

// A rule tells where a register of the caller is.
type rule struct {
	kind   ruleKind
	offset int64 // from the canonical frame address
}

type ruleKind byte

const (
	sameValue ruleKind = iota
	atOffset
	elsewhere // in a way that is not followed
)

// A row is the rules at one address. The canonical frame address, the stack pointer of the caller
// before the call, is register + offset, or the value of an expression.
type row struct {
	register   uint64
	offset     int64
	expression []byte
	saved      [dwCount]rule
}

// row runs the programs up to an address.
func (f *Function) row(at uint64) (row, error) {
	m := &machine{common: f.common, location: f.From, until: at}
	if err := m.run(f.common.program); err != nil {
		return m.row, err
	}
	m.initial = m.row
	return m.row, m.run(f.program)
}

// constantFrame is ConstantFrame: the rules change nowhere, and hang on the stack pointer.
func (f *Function) constantFrame() int64 {
	m := &machine{common: f.common, location: f.From, until: ^uint64(0)}
	if m.run(f.common.program) != nil {
		return 0
	}
	m.initial = m.row
	if m.run(f.program) != nil || m.moved || m.row.register != dwRSP || m.row.expression != nil {
		return 0
	}
	return m.row.offset
}
