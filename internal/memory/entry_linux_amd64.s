#include "textflag.h"

// moonlap_entry is where bin/moonlap begins (script/build tells the linker): before Go's runtime takes its first memory, a command
// that looks at workers makes itself the one that the kernel ends first. From init on, as in first.go, would be too late: in
// a memory cgroup with less than a megabyte left, the kernel ended the worker. The rules are those of first.go.
//
// Then it starts its decoy, see decoy_linux_amd64.go.
//
// The stack is as the kernel leaves it: the number of arguments, their addresses, 0. All bytes that are read here lie in it, because
// the environment and the program's name follow the arguments.
TEXT moonlap_entry(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ 0(SP), CX
	CMPQ CX, $2
	JLT  start
	MOVQ 16(SP), SI
	MOVQ 0(SI), AX
	MOVQ $0x006e69616c707865, BX // "explain"
	CMPQ AX, BX
	JEQ  looks
	MOVQ $0x00656c69666f7270, BX // "profile"
	CMPQ AX, BX
	JEQ  looks
	SHLQ $16, AX
	MOVQ $0x0068637461770000, BX // "watch"
	CMPQ AX, BX
	JEQ  looks
	SHLQ $8, AX
	MOVQ $0x0070616568000000, BX // "heap"
	CMPQ AX, BX
	JNE  start

looks:
	LEAQ 24(SP), BX

argument: // "--": what follows is a command that moonlap starts, which must not inherit that
	MOVQ  0(BX), SI
	TESTQ SI, SI
	JEQ   first
	MOVL  0(SI), AX
	ANDL  $0xffffff, AX
	CMPL  AX, $0x2d2d
	JEQ   start
	ADDQ  $8, BX
	JMP   argument

first:
	MOVL $2, AX               // open
	LEAQ ownScore<>(SB), DI
	MOVL $1, SI               // O_WRONLY
	XORL DX, DX
	SYSCALL
	TESTQ AX, AX
	JLT  start
	MOVQ AX, R8
	MOVQ AX, DI
	MOVL $1, AX               // write
	LEAQ mostExpendable<>(SB), SI
	MOVL $4, DX
	SYSCALL
	MOVQ R8, DI
	MOVL $3, AX               // close
	SYSCALL

	SUBQ  $16, SP             // both ends of a pipe, and 8 bytes that are 0
	MOVQ  $0, 8(SP)
	MOVL  $293, AX            // pipe2
	MOVQ  SP, DI
	MOVL  $0x80000, SI        // O_CLOEXEC
	SYSCALL
	TESTQ AX, AX
	JLT   single
	MOVL  $56, AX             // clone, as fork does
	MOVL  $17, DI             // SIGCHLD
	XORL  SI, SI
	XORL  DX, DX
	XORL  R10, R10
	XORL  R8, R8
	SYSCALL
	TESTQ AX, AX
	JEQ   decoy
	MOVL  $3, AX              // close
	MOVL  0(SP), DI
	SYSCALL
	MOVL  4(SP), AX
	MOVL  AX, ·decoyEnd(SB)

single:
	ADDQ $16, SP

start:
	JMP _rt0_amd64_linux(SB)

decoy:
	MOVL $3, AX               // close, or the pipe would not end with the parent
	MOVL 4(SP), DI
	SYSCALL
	MOVL $33, AX              // dup2
	MOVL 0(SP), DI
	XORL SI, SI
	SYSCALL
	MOVL $436, AX             // close_range: nobody waits for the end of what it has inherited
	MOVL $1, DI
	MOVL $0xffffffff, SI
	XORL DX, DX
	SYSCALL
	MOVL $112, AX             // setsid: no key of a terminal reaches it
	SYSCALL
	MOVL $157, AX             // prctl
	MOVL $15, DI              // PR_SET_NAME
	LEAQ decoyName<>(SB), SI
	SYSCALL
	MOVL $144, AX             // sched_setscheduler
	XORL DI, DI
	MOVL $5, SI               // SCHED_IDLE: who ends it waits until moonlap, which ends at the same time, has given its memory back
	LEAQ 8(SP), DX
	SYSCALL

wait:
	XORL AX, AX               // read
	XORL DI, DI
	LEAQ 8(SP), SI
	MOVL $1, DX
	SYSCALL
	CMPQ AX, $-4              // EINTR
	JEQ  wait
	MOVL $231, AX             // exit_group
	XORL DI, DI
	SYSCALL
	INT  $3

DATA decoyName<>+0(SB)/8, $"moonlap "
DATA decoyName<>+8(SB)/6, $"decoy\x00"
GLOBL decoyName<>(SB), RODATA|NOPTR, $14

DATA ownScore<>+0(SB)/8, $"/proc/se"
DATA ownScore<>+8(SB)/8, $"lf/oom_s"
DATA ownScore<>+16(SB)/8, $"core_adj"
DATA ownScore<>+24(SB)/1, $0
GLOBL ownScore<>(SB), RODATA|NOPTR, $25

DATA mostExpendable<>+0(SB)/4, $"1000"
GLOBL mostExpendable<>(SB), RODATA|NOPTR, $4
