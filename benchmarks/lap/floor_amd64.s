#include "textflag.h"

// A loop of n turns around a chain of dependent multiplications, with READ before the
// chain. The reading's value is kept in R9. CX is RDTSCP's, so n counts down in R8.
#define LOOP(NAME, READ) \
TEXT NAME(SB), NOSPLIT, $0-16 \
	MOVQ n+0(FP), R8; \
	MOVQ links+8(FP), BX; \
	MOVQ $0x9E3779B97F4A7C15, R11; \
	MOVQ $1, R12; \
turn: \
	READ; \
	MOVQ BX, R13; \
	TESTQ R13, R13; \
	JZ done; \
link: \
	IMULQ R11, R12; \
	INCQ R12; \
	DECQ R13; \
	JNZ link; \
done: \
	DECQ R8; \
	JNZ turn; \
	RET

#define KEEP SHLQ $32, DX; ORQ DX, AX; MOVQ AX, R9

LOOP(·nothing, NOP)
LOOP(·counter, RDTSC; KEEP)
LOOP(·counterTwice, RDTSC; KEEP; RDTSC; KEEP)
LOOP(·fenceCounter, LFENCE; RDTSC; KEEP)
LOOP(·counterFence, RDTSC; KEEP; LFENCE)
LOOP(·fenceCounterFence, LFENCE; RDTSC; KEEP; LFENCE)
LOOP(·ordered, RDTSCP; KEEP)
LOOP(·orderedFence, RDTSCP; KEEP; LFENCE)
