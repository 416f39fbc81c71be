package jit

import "golang.org/x/arch/x86/x86asm"

// A shape is the machine code that the assembler makes of an operation of the IR (lj_asm_x86.h): what it cannot be without, and
// what may stand around that.
type shape struct {
	main, other map[x86asm.Op]bool
	call        bool // it calls C functions, or may
	looksUp     bool // a key, too, which it compares
}

var (
	arithmetic = set(x86asm.ADD, x86asm.SUB, x86asm.LEA, x86asm.ADDSD, x86asm.SUBSD, x86asm.ADDSS, x86asm.SUBSS, x86asm.INC, x86asm.DEC)
	compares   = set(x86asm.CMP, x86asm.TEST, x86asm.UCOMISD, x86asm.UCOMISS)
	loads      = set(x86asm.MOV, x86asm.MOVSD_XMM, x86asm.MOVSS, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD, x86asm.CVTTSD2SI, x86asm.CVTSI2SD, 0)
	tests      = set(x86asm.CMP, x86asm.MOV, x86asm.MOVSD_XMM, 0)
	untags     = set(x86asm.CMP, x86asm.ROR, x86asm.SAR, x86asm.SHR, x86asm.SHL, x86asm.CVTTSD2SI, x86asm.CVTSI2SD, x86asm.UCOMISD, x86asm.XORPS)
	tags       = set(x86asm.OR, x86asm.SHL, x86asm.CVTSI2SD, x86asm.BTS, x86asm.XOR, x86asm.SHR)
	converts   = set(x86asm.CVTSI2SD, x86asm.CVTSI2SS, x86asm.CVTTSD2SI, x86asm.CVTTSS2SI, x86asm.CVTSD2SS, x86asm.CVTSS2SD, x86asm.MOVSXD,
		x86asm.MOVZX, x86asm.MOVSX)
	calls  = set(x86asm.CALL)
	shifts = set(x86asm.SHL, x86asm.SHR, x86asm.SAR, x86asm.ROL, x86asm.ROR, 0)
	hashes = set(x86asm.CMP, x86asm.JMP, x86asm.TEST, x86asm.ADD, x86asm.SUB, x86asm.AND, x86asm.XOR, x86asm.SHL, x86asm.SHR, x86asm.ROL,
		x86asm.LEA, x86asm.OR, x86asm.UCOMISD, 0)
)

// shapeOf is an instruction's shape.
func shapeOf(i Instruction) shape {
	switch i.Op {
	case LT, GE, LE, GT, ULT, UGE, ULE, UGT, EQ, NE, ABC:
		return shape{main: compares, other: set(x86asm.SAR, x86asm.SHR, x86asm.ROR, x86asm.AND)}
	case RETF:
		return shape{main: set(x86asm.CMP), other: set(x86asm.ADD, x86asm.SUB, x86asm.MOV)}
	case BNOT:
		return shape{main: set(x86asm.NOT)}
	case BSWAP:
		return shape{main: set(x86asm.BSWAP)}
	case BAND:
		return shape{main: set(x86asm.AND, x86asm.MOVZX)}
	case BOR:
		return shape{main: set(x86asm.OR)}
	case BXOR:
		return shape{main: set(x86asm.XOR)}
	case BSHL, BSHR, BSAR, BROL, BROR:
		return shape{main: shifts}
	case ADD, SUB, ADDOV, SUBOV:
		return shape{main: arithmetic}
	case MUL, MULOV:
		return shape{main: set(x86asm.MULSD, x86asm.MULSS, x86asm.IMUL, x86asm.ADD, x86asm.SHL, x86asm.LEA), call: i.kind() > 20}
	case DIV:
		return shape{main: set(x86asm.DIVSD, x86asm.DIVSS, x86asm.CALL), call: !i.number()}
	case MOD, POW, LDEXP:
		return shape{main: calls, other: set(x86asm.FLD, x86asm.FSTP, x86asm.FSCALE), call: true}
	case NEG:
		return shape{main: set(x86asm.NEG, x86asm.XORPS)}
	case ABS:
		return shape{main: set(x86asm.ANDPS)}
	case MIN, MAX:
		return shape{main: set(x86asm.MINSD, x86asm.MAXSD, x86asm.CMOVG, x86asm.CMOVL, x86asm.CMOVGE, x86asm.CMOVLE), other: set(x86asm.CMP)}
	case FPMATH:
		return shape{main: set(x86asm.ROUNDSD, x86asm.SQRTSD, x86asm.CALL), other: set(x86asm.FLD, x86asm.FSTP), call: true}
	case AREF, FREF, STRREF:
		return shape{main: set(x86asm.LEA, x86asm.ADD), other: set(x86asm.SHL)}
	case HREFK:
		return shape{main: set(x86asm.CMP), other: set(x86asm.ADD, x86asm.LEA)}
	case HREF:
		return shape{main: set(x86asm.TEST), other: hashes}
	case NEWREF:
		return shape{main: calls, other: hashes, call: true}
	case UREFO, UREFC:
		return shapeOfVariable(i)
	case TMPREF:
		return shape{main: set(x86asm.LEA), other: tags}
	case ALOAD, HLOAD, ULOAD, VLOAD, SLOAD:
		return shapeOfLoad(i)
	case FLOAD, XLOAD:
		return shape{main: loads, other: set(x86asm.SHL, x86asm.SHR, x86asm.XOR)}
	case ALEN:
		return shape{main: set(x86asm.CALL, x86asm.CMP), other: hashes, call: true}
	case ASTORE, HSTORE, USTORE, FSTORE, XSTORE:
		return shape{main: set(x86asm.MOV, x86asm.MOVSD_XMM, x86asm.MOVSS), other: tags}
	case CNEW, CNEWI: // the type and the mark of the collector are written behind the call
		return shape{main: calls, other: set(x86asm.TEST, x86asm.ADD, x86asm.SUB, x86asm.AND, x86asm.OR, x86asm.MOVZX), call: true}
	case SNEW, XSNEW, TNEW, TDUP, TOSTR, BUFSTR, STRTO:
		return shape{main: calls, other: set(x86asm.TEST, x86asm.ADD, x86asm.SUB), call: true}
	case BUFHDR:
		return shape{main: set(x86asm.MOV, x86asm.LEA), other: set(x86asm.AND, x86asm.OR, x86asm.CALL), call: true}
	case BUFPUT:
		return shape{main: calls, other: set(x86asm.CMP, x86asm.SUB, x86asm.ADD), call: true}
	case TBAR:
		return shape{main: set(x86asm.TEST), other: set(x86asm.AND)}
	case OBAR:
		return shape{main: calls, other: set(x86asm.TEST), call: true}
	case CONV:
		return shape{main: converts, other: set(x86asm.UCOMISD, x86asm.ADDSD, x86asm.TEST, x86asm.CMP, x86asm.XORPS, x86asm.SUBSD)}
	case TOBIT:
		return shape{main: set(x86asm.ADDSD, x86asm.MOVD), other: set(x86asm.CVTTSD2SI)}
	case CALLN, CALLA, CALLL, CALLS, CALLXS:
		return shape{main: calls, other: set(x86asm.LEA, x86asm.FSTP, x86asm.FLD, x86asm.ADD, x86asm.SUB, x86asm.TEST), call: true}
	case BASE, LOOP, GCSTEP: // the collector's step is there, for the whole trace or its loop
		return shape{other: set(x86asm.JMP, x86asm.CMP, x86asm.TEST, x86asm.CALL, x86asm.ADD, x86asm.SUB), call: true}
	}
	return shape{}
}

// shapeOfVariable is the shape of a reference to a variable outside.
func shapeOfVariable(i Instruction) shape {
	switch {
	case i.Op == UREFO:
		return shape{main: set(x86asm.MOV), other: set(x86asm.CMP)}
	case i.Op1.constant():
		return shape{main: set(x86asm.MOV)}
	}
	return shape{main: set(x86asm.LEA), other: set(x86asm.MOV, x86asm.CMP)} // it makes sure that the variable is a closed one
}

// shapeOfLoad is the shape of a load of a value of Lua.
func shapeOfLoad(i Instruction) shape {
	if i.Reg&noReg != 0 && i.guard() { // the type is tested, and the value fused into what uses it
		return shape{main: tests, other: untags}
	}
	return shape{main: loads, other: untags}
}

// shape is an instruction's shape. A comparison of what was just looked up in a table has that look-up's code in it.
func (t *Trace) shape(r Ref) shape {
	i := t.IR[r-Bias]
	s := shapeOf(i)
	if before := r - 1; (i.Op == EQ || i.Op == NE) && before > Bias && i.Op1 == before && t.IR[before-Bias].Op == HREF {
		s.other, s.looksUp = hashes, true
	}
	return s
}

func (t *Trace) silent(r Ref) bool {
	i := t.IR[r-Bias]
	if next, ok := t.At(r + 1); ok && i.Op == HREF && (next.Op == EQ || next.Op == NE) && next.Op1 == r {
		return true
	}
	return i.silent()
}

// silent reports that an instruction has no machine code of its own: it was fused into the one that uses it, sunk, or is not needed.
func (i Instruction) silent() bool {
	const parent = 1 // IRSLOAD_PARENT
	switch i.Op {
	case NOP, BASE, PVAL, HIOP, USE, PHI, RENAME, PROF, KSLOT, CARG, XBAR:
		return true
	case UREFO, UREFC: // the variable of a constant function has a constant address
		return i.Reg&noReg != 0 && (i.Op1.constant() || !i.guard())
	case SLOAD:
		return i.Op2&parent != 0 || i.Reg&noReg != 0 && !i.guard()
	case ASTORE, HSTORE, USTORE, FSTORE, XSTORE, OBAR, TBAR:
		return i.Reg == regSink || i.Reg == regSunk
	case CALLN, CALLL, CALLA, CALLS, CALLXS, BUFPUT, NEWREF, LOOP, GCSTEP, RETF, LT, GE, LE, GT, ULT, UGE, ULE, UGT, EQ, NE, ABC:
		return false
	}
	return i.Reg&noReg != 0 && i.Spill == 0 && !i.guard()
}
