#include "textflag.h"

// func counter() int64
TEXT ·counter(SB), NOSPLIT, $0-8
	MRS  CNTVCT_EL0, R0
	MOVD R0, ret+0(FP)
	RET

// func fence()
TEXT ·fence(SB), NOSPLIT, $0-0
	ISB $15
	RET
