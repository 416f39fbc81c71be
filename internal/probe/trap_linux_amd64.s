#include "textflag.h"

// func trapped(times uint64)
// It calls allocates, with the arguments of a lua_Alloc that is asked for 16 bytes.
TEXT ·trapped(SB), NOSPLIT, $0-8
	MOVQ times+0(FP), BX
again:
	XORL DI, DI
	XORL SI, SI
	XORL DX, DX
	MOVQ $16, CX
	CALL allocates<>(SB)
	DECQ BX
	JNE  again
	RET

// It begins with a jump to the next instruction, which the kernel emulates.
TEXT allocates<>(SB), NOSPLIT|NOFRAME, $0-0
	BYTE $0xeb
	BYTE $0x00
	RET

// func trapAddress() uintptr
TEXT ·trapAddress(SB), NOSPLIT, $0-8
	LEAQ allocates<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET
