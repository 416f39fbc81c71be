#include "textflag.h"

// moonlap_entry is where bin/moonlap begins (script/build tells the linker): before Go's runtime takes its first memory, a command
// that looks at workers makes itself the one that the kernel ends first. From init on, as in first.go, would be too late: in
// a memory cgroup with less than a megabyte left, the kernel ended the worker. The rules are those of first.go.
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

start:
	JMP _rt0_amd64_linux(SB)

DATA ownScore<>+0(SB)/8, $"/proc/se"
DATA ownScore<>+8(SB)/8, $"lf/oom_s"
DATA ownScore<>+16(SB)/8, $"core_adj"
DATA ownScore<>+24(SB)/1, $0
GLOBL ownScore<>(SB), RODATA|NOPTR, $25

DATA mostExpendable<>+0(SB)/4, $"1000"
GLOBL mostExpendable<>(SB), RODATA|NOPTR, $4
