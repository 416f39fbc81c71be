package jit

// Bytecode instructions (lj_bc.h), the same from 2019 on up to those of functions' heads.
const (
	bcISLT   = 0
	bcISGE   = 1
	bcISLE   = 2
	bcISGT   = 3
	bcISNEP  = 11
	bcISEQV  = 4
	bcISTC   = 12
	bcISFC   = 13
	bcIST    = 14
	bcISF    = 15
	bcISTYPE = 16
	bcISNUM  = 17
	bcMOV    = 18
	bcNOT    = 19
	bcUNM    = 20
	bcLEN    = 21
	bcADDVN  = 22
	bcADDNV  = 27
	bcADDVV  = 32
	bcMODVV  = 36
	bcPOW    = 37
	bcCAT    = 38
	bcKSTR   = 39
	bcKCDATA = 40
	bcKSHORT = 41
	bcKNUM   = 42
	bcKPRI   = 43
	bcKNIL   = 44
	bcUGET   = 45
	bcUSETV  = 46
	bcUSETP  = 49
	bcUCLO   = 50
	bcFNEW   = 51
	bcTNEW   = 52
	bcTDUP   = 53
	bcGGET   = 54
	bcGSET   = 55
	bcTGETV  = 56
	bcTGETS  = 57
	bcTGETB  = 58
	bcTGETR  = 59
	bcTSETV  = 60
	bcTSETS  = 61
	bcTSETB  = 62
	bcTSETM  = 63
	bcTSETR  = 64
	bcCALLM  = 65
	bcCALL   = 66
	bcCALLMT = 67
	bcCALLT  = 68
	bcITERC  = 69
	bcITERN  = 70
	bcVARG   = 71
	bcISNEXT = 72
	bcRETM   = 73
	bcRET1   = 76
	bcFORI   = 77
	bcJFORI  = 78
	bcFORL   = 79
	bcJFORL  = 81
	bcITERL  = 82
	bcJITERL = 84
	bcLOOP   = 85
	bcJLOOP  = 87
	bcJMP    = 88
)

// A Proto is a function's prototype, as far as the recorder looks at it.
type Proto struct {
	Address uint64
	First   uint64   // address of its first instruction
	Code    []uint32 // as it was before traces began in it
	Numbers []uint64 // bits of its number constants
	Objects []uint64 // addresses of its other constants
	Vararg  bool
	Slots   int // that a frame of it has
	// Parameters is how many it has by name.
	Parameters int
}

func (p *Proto) contains(pc uint64) bool {
	return p != nil && pc >= p.First && pc < p.First+4*uint64(len(p.Code))
}

func (p *Proto) index(pc uint64) int { return int(pc-p.First) / 4 }

// An instruction's operands.
func bcOp(i uint32) int { return int(i & 0xff) }
func bcA(i uint32) int  { return int(i >> 8 & 0xff) }
func bcB(i uint32) int  { return int(i >> 24) }
func bcC(i uint32) int  { return int(i >> 16 & 0xff) }
func bcD(i uint32) int  { return int(i >> 16) }

// bcJump is how many instructions a jump goes on from the one behind it.
func bcJump(i uint32) int { return bcD(i) - 0x8000 }

// An opSet is a set of the IR's operations.
type opSet [2]uint64

func ops(all ...Op) (s opSet) {
	for _, o := range all {
		s[o>>6] |= 1 << (o & 63)
	}
	return s
}

func (s opSet) has(o Op) bool { return s[o>>6&1]&(1<<(o&63)) != 0 }

func (s opSet) and(o opSet) opSet { return opSet{s[0] | o[0], s[1] | o[1]} }

// What bytecode instructions emit, as the recorder (lj_record.c) has it for plain values. Metamethods and C data emit more.
var (
	everything = opSet{1<<64 - 1, 1<<64 - 1}
	operands   = ops(SLOAD, CONV, STRTO, NOP, GCSTEP)
	compared   = operands.and(ops(LT, GE, LE, GT, ULT, UGE, ULE, UGT, EQ, NE, CALLN, CARG))
	calculated = operands.and(ops(ADD, SUB, MUL, DIV, MOD, POW, NEG, ADDOV, SUBOV, MULOV, FPMATH, CALLN, CARG, BAND, EQ, NE, GE, LT, LDEXP, ABS))
	gotten     = operands.and(ops(FLOAD, AREF, HREFK, HREF, ABC, EQ, NE, ULE, UGT, UGE, ULT, ALOAD, HLOAD, KSLOT, XLOAD, CNEW, CNEWI, STRREF, FREF, ADD, SUB, ADDOV, SUBOV, MUL, BSHL, BAND, TOBIT))
	set2       = gotten.and(ops(NEWREF, ASTORE, HSTORE, FSTORE, XSTORE, TBAR, CALLL, CALLS, CARG, OBAR, XBAR))
	upvalue    = operands.and(ops(UREFO, UREFC, ULOAD, USTORE, OBAR, EQ, FLOAD, SUB, ULT, UGT, ADD, UGE, HIOP))
	looped     = operands.and(ops(ADD, ADDOV, SUB, SUBOV, LE, GE, LT, GT, EQ, NE, USE))
	joined     = operands.and(ops(BUFHDR, BUFPUT, BUFSTR, TOSTR, CALLL, CALLN, CALLA, CARG, SNEW, TMPREF))
	computed   = ops(BNOT, BSWAP, BAND, BOR, BXOR, BSHL, BSHR, BSAR, BROL, BROR, FPMATH, MIN, MAX, ABS, POW, LDEXP, TOSTR, STRTO, SNEW)
	// helpers are what is emitted for the operands of what the instruction is about.
	helpers = operands.and(ops(FLOAD, AREF, HREFK, HREF, ABC, FREF, KSLOT, UREFO, UREFC, BUFHDR, BUFPUT, CARG, NEWREF))
	// internal are addresses, which no slot holds: the first instruction that uses one is of the same bytecode.
	internal = ops(AREF, HREFK, FREF, UREFO, UREFC, STRREF, NEWREF, BUFHDR, CARG, CONV)
	measured = operands.and(ops(FLOAD, ALEN, CALLL))
	none     = opSet{}
)

// emits is what a bytecode instruction may emit.
func emits(op int) opSet {
	switch {
	case op <= bcISNEP:
		return compared
	case op == bcUNM, op >= bcADDVN && op <= bcPOW:
		return calculated
	case op <= bcNOT:
		return operands
	case op == bcLEN:
		return measured
	case op == bcCAT:
		return joined
	case op <= bcKNIL:
		return none
	case op <= bcUSETP:
		return upvalue
	case op == bcTNEW, op == bcTDUP:
		return ops(TNEW, TDUP)
	case op == bcGSET, op >= bcTSETV && op <= bcTSETR:
		return set2
	case op >= bcGGET && op <= bcTGETR:
		return gotten
	case op >= bcFORI && op <= bcJFORL:
		return looped
	case op >= bcRETM && op <= bcRET1:
		return operands.and(ops(RETF))
	case op >= bcCALLM && op <= bcVARG, op >= bcITERL && op <= bcJITERL:
		return everything
	}
	return none
}
