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

#define SYS_read 0
#define SYS_close 3
#define SYS_clone 56
#define SYS_prctl 157
#define SYS_exit_group 231
#define SYS_seccomp 317

// func forkReturning(filter uintptr, reading, writing uintptr) (pid int)
// The child has this thread alone, and none of Go's, so that it does all in here.
TEXT ·forkReturning(SB), NOSPLIT, $16-32
	MOVL $SYS_clone, AX
	MOVL $17, DI // SIGCHLD
	XORL SI, SI
	XORL DX, DX
	XORL R10, R10
	XORL R8, R8
	SYSCALL
	TESTQ AX, AX
	JEQ  child
	MOVQ AX, pid+24(FP)
	RET
child:
	MOVL $SYS_close, AX // or reading would not end with the parent
	MOVQ writing+16(FP), DI
	SYSCALL
	MOVL $SYS_prctl, AX
	MOVL $4, DI // PR_SET_DUMPABLE: no core of this
	XORL SI, SI
	SYSCALL
	MOVL $SYS_prctl, AX
	MOVL $38, DI // PR_SET_NO_NEW_PRIVS
	MOVL $1, SI
	XORL DX, DX
	XORL R10, R10
	XORL R8, R8
	SYSCALL
	MOVL $SYS_seccomp, AX
	MOVL $1, DI // SECCOMP_SET_MODE_FILTER
	XORL SI, SI
	MOVQ filter+0(FP), DX
	SYSCALL
	MOVL $2, DI
	TESTQ AX, AX
	JNE  exit
	MOVL $SYS_read, AX
	MOVQ reading+8(FP), DI
	LEAQ wait-8(SP), SI
	MOVL $1, DX
	SYSCALL
	MOVL $3, DI
	CMPQ AX, $1
	JNE  exit
	CALL allocates<>(SB)
	XORL DI, DI
exit:
	MOVL $SYS_exit_group, AX
	SYSCALL
	INT  $3
