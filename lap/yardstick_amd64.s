#include "textflag.h"

// The pieces of lua/moonlap/bench/yardstick.lua, instruction by instruction: the best of a machine
// holds for both. Each takes the number of turns in DI; the second reads a page at BX.

// As many additions at once as the core has units for.
TEXT core<>(SB), NOSPLIT|NOFRAME, $0-0
	PCALIGN $64
again:
	ADDQ DI, AX
	XORQ DI, DX
	ADDQ DI, CX
	XORQ DI, R8
	ADDQ DI, R9
	XORQ DI, R10
	ADDQ DI, R11
	SUBL $1, DI
	JNE  again
	RET

// As many loads from the first-level cache as it serves: a turn reads the 64 lines of a page.
TEXT cache<>(SB), NOSPLIT|NOFRAME, $0-0
	PCALIGN $64
again:
	MOVQ BX, SI
	LEAQ 4096(BX), DX
line:
	MOVQ (SI), AX
	MOVQ 64(SI), R8
	MOVQ 128(SI), R9
	MOVQ 192(SI), R10
	ADDQ $256, SI
	CMPQ SI, DX
	JNE  line
	SUBL $1, DI
	JNE  again
	RET

// func coreTicks(untimed, turns int32) (ticks int32)
TEXT ·coreTicks(SB), NOSPLIT, $0-12
	MOVL untimed+0(FP), DI
	CALL core<>(SB)
	LFENCE
	RDTSC
	LFENCE
	MOVL AX, R12
	MOVL turns+4(FP), DI
	CALL core<>(SB)
	LFENCE
	RDTSC
	LFENCE
	SUBL R12, AX
	MOVL AX, ticks+8(FP)
	RET

// func cacheTicks(page *byte, untimed, turns int32) (ticks int32)
TEXT ·cacheTicks(SB), NOSPLIT, $0-20
	MOVQ page+0(FP), BX
	MOVL untimed+8(FP), DI
	CALL cache<>(SB)
	LFENCE
	RDTSC
	LFENCE
	MOVL AX, R12
	MOVL turns+12(FP), DI
	CALL cache<>(SB)
	LFENCE
	RDTSC
	LFENCE
	SUBL R12, AX
	MOVL AX, ticks+16(FP)
	RET
