package jit

import (
	"bytes"
	"strings"
)

// An Op is an operation of a trace's intermediate representation (IR), by its number in the release that Opcodes are of.
type Op uint8

// irDefinition is the IR of LuaJIT 2.1 (lj_ir.h, IRDEF) from 2021-07 on, in its order: the name, its mode, and the modes of its two
// operands: r a reference, l a literal, c a constant, - none.
const irDefinition = `
LT N rr, GE N rr, LE N rr, GT N rr, ULT N rr, UGE N rr, ULE N rr, UGT N rr, EQ C rr, NE C rr, ABC N rr, RETF S rr,
NOP N --, BASE N ll, PVAL N l-, GCSTEP S --, HIOP S rr, LOOP S --, USE S r-, PHI S rr, RENAME S rl, PROF S --,
KPRI N --, KINT N c-, KGC N c-, KPTR N c-, KKPTR N c-, KNULL N c-, KNUM N c-, KINT64 N c-, KSLOT N rl,
BNOT N r-, BSWAP N r-, BAND C rr, BOR C rr, BXOR C rr, BSHL N rr, BSHR N rr, BSAR N rr, BROL N rr, BROR N rr,
ADD C rr, SUB N rr, MUL C rr, DIV N rr, MOD N rr, POW N rr, NEG N rr, ABS N rr, LDEXP N rr, MIN C rr, MAX C rr, FPMATH N rl,
ADDOV CW rr, SUBOV NW rr, MULOV CW rr,
AREF N rr, HREFK N rr, HREF L rr, NEWREF S rr, UREFO LW rl, UREFC LW rl, FREF N rl, TMPREF S rl, STRREF N rr, LREF L --,
ALOAD L r-, HLOAD L r-, ULOAD L r-, FLOAD L rl, XLOAD L rl, SLOAD L ll, VLOAD L rl, ALEN L rr,
ASTORE S rr, HSTORE S rr, USTORE S rr, FSTORE S rr, XSTORE S rr,
SNEW N rr, XSNEW A rr, TNEW AW ll, TDUP AW r-, CNEW AW rr, CNEWI NW rr, BUFHDR L rl, BUFPUT LW rr, BUFSTR AW rr,
TBAR S r-, OBAR S rr, XBAR S --, CONV N rl, TOBIT N rr, TOSTR N rl, STRTO N r-,
CALLN NW rl, CALLA AW rl, CALLL LW rl, CALLS S rl, CALLXS S rr, CARG N rr`

// Operations by their numbers: those of irDefinition, in its order.
const (
	LT Op = iota
	GE
	LE
	GT
	ULT
	UGE
	ULE
	UGT
	EQ
	NE
	ABC
	RETF
	NOP
	BASE
	PVAL
	GCSTEP
	HIOP
	LOOP
	USE
	PHI
	RENAME
	PROF
	KPRI
	KINT
	KGC
	KPTR
	KKPTR
	KNULL
	KNUM
	KINT64
	KSLOT
	BNOT
	BSWAP
	BAND
	BOR
	BXOR
	BSHL
	BSHR
	BSAR
	BROL
	BROR
	ADD
	SUB
	MUL
	DIV
	MOD
	POW
	NEG
	ABS
	LDEXP
	MIN
	MAX
	FPMATH
	ADDOV
	SUBOV
	MULOV
	AREF
	HREFK
	HREF
	NEWREF
	UREFO
	UREFC
	FREF
	TMPREF
	STRREF
	LREF
	ALOAD
	HLOAD
	ULOAD
	FLOAD
	XLOAD
	SLOAD
	VLOAD
	ALEN
	ASTORE
	HSTORE
	USTORE
	FSTORE
	XSTORE
	SNEW
	XSNEW
	TNEW
	TDUP
	CNEW
	CNEWI
	BUFHDR
	BUFPUT
	BUFSTR
	TBAR
	OBAR
	XBAR
	CONV
	TOBIT
	TOSTR
	STRTO
	CALLN
	CALLA
	CALLL
	CALLS
	CALLXS
	CARG
	opCount
)

// A definition is what is known of an operation.
type definition struct {
	name string
	mode byte    // as LuaJIT's table has it
	refs [2]bool // which operands are references
}

var definitions = define()

func define() (all [opCount]definition) {
	modes := map[rune]byte{'C': 0x10, 'A': 0x20, 'L': 0x40, 'S': 0x60, 'W': 0x80}
	operands := map[byte]byte{'r': 0, 'l': 1, 'c': 2, '-': 3}
	list := strings.Split(irDefinition, ",")
	for i, one := range list {
		words := strings.Fields(one)
		d := definition{name: words[0], refs: [2]bool{words[2][0] == 'r', words[2][1] == 'r'}}
		d.mode = operands[words[2][0]] | operands[words[2][1]]<<2
		for _, letter := range words[1] {
			d.mode |= modes[letter]
		}
		d.mode ^= 0x80 // kept inverted
		all[i] = d
	}
	return all
}

func (o Op) String() string {
	if o < opCount {
		return definitions[o].name
	}
	return "?"
}

// modeTables are LuaJIT's own tables of modes (lj_ir_mode) in the releases that have these operations: MIN and MAX are not
// commutative since 2023-09.
func modeTables() [][]byte {
	before := make([]byte, opCount+1)
	for i, d := range definitions {
		before[i] = d.mode
	}
	since := bytes.Clone(before)
	since[MIN] &^= 0x10
	since[MAX] &^= 0x10
	return [][]byte{before, since}
}

// Known reports whether a build's read-only data have the table of modes of the operations that are known here. No symbol leads to
// it; it is a hundred bytes long, and one operation more or less makes it another.
func Known(data []byte) bool {
	for _, table := range modeTables() {
		if bytes.Contains(data, table) {
			return true
		}
	}
	return false
}
